// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "io/offload.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstring>
#include <vector>

namespace lanesum::io {
namespace {

// Through the socket, not through getifaddrs or /sys: its network namespace may differ from this thread's.

struct Device {
    std::string name;
    bool loopback = false;
};

bool is_loopback(int fd, const std::string &device) {
    ifreq request{};
    device.copy(request.ifr_name, IFNAMSIZ - 1);
    return ioctl(fd, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_LOOPBACK);
}

/// Returns the device that has the address; with an empty name if none has.
Device device_of(int fd, in_addr address) {
    ifconf all{};
    if (ioctl(fd, SIOCGIFCONF, &all) != 0) {
        return {};
    }
    std::vector<ifreq> addresses(static_cast<std::size_t>(all.ifc_len) / sizeof(ifreq));
    all.ifc_req = addresses.data();
    if (ioctl(fd, SIOCGIFCONF, &all) != 0) {
        return {};
    }
    // All of 127/8 belongs to loopback, whether listed or not.
    const bool local = ntohl(address.s_addr) >> 24 == 127;
    for (const ifreq &one : addresses) {
        sockaddr_in own;
        std::memcpy(&own, &one.ifr_addr, sizeof own);
        std::string name(one.ifr_name, strnlen(one.ifr_name, IFNAMSIZ));
        name = name.substr(0, name.find(':'));  // further addresses have labels
        const bool loopback = is_loopback(fd, name);
        if (own.sin_addr.s_addr == address.s_addr || (local && loopback)) {
            return {name, loopback};
        }
    }
    return {};
}

/// Returns the bus address of the device; empty for software devices.
std::string bus_of(int fd, const std::string &device) {
    ethtool_drvinfo driver{};
    driver.cmd = ETHTOOL_GDRVINFO;
    ifreq request{};
    device.copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char *>(&driver);
    if (ioctl(fd, SIOCETHTOOL, &request) != 0) {
        return {};
    }
    // A tap or tun has a program behind it, and reports its driver as its bus.
    if (std::strncmp(driver.driver, "tun", sizeof driver.driver) == 0) {
        return {};
    }
    const std::string bus(driver.bus_info, strnlen(driver.bus_info, sizeof driver.bus_info));
    return bus == "N/A" ? std::string() : bus;
}

}  // namespace

Offload probe(int fd) {
    sockaddr_in local{};
    socklen_t size = sizeof local;
    if (getsockname(fd, reinterpret_cast<sockaddr *>(&local), &size) != 0 || local.sin_family != AF_INET) {
        return {false, "The socket has no IPv4 address."};
    }
    const Device device = device_of(fd, local.sin_addr);
    if (device.name.empty()) {
        return {false, "No device has the socket's address."};
    }
    if (device.loopback) {
        return {true, "Device " + device.name + " is loopback, which segments for receivers of single datagrams."};
    }
    const std::string bus = bus_of(fd, device.name);
    if (bus.empty()) {
        return {false,
                "Device " + device.name + " is a software device: a switch behind it may have to see every packet."};
    }
    return {true, "Device " + device.name + " is on a bus (" + bus + ")."};
}

}  // namespace lanesum::io
