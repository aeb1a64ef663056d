// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Small replacement of libFuzzer for compilers without it, with these options of libFuzzer:
//   fuzz_x [-max_total_time=SECONDS] [-runs=N] [-seed=N] [-artifact_prefix=FOLDER/] FOLDER_OR_FILE...
// It runs the inputs in the folders and files, and then mutations of them. Mutations that cover new edges of the code
// (coverage.hpp) join the corpus and are stored in the first folder. An input that crashes the target is left in the file
// crash-TARGET.
#include <sys/mman.h>
#include <unistd.h>

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "coverage.hpp"
#include "mutation.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

namespace lanesum::fuzz {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

struct Options {
    double seconds = 0;  // 0: no limit
    std::uint64_t runs = ~std::uint64_t{0};
    std::uint64_t seed = 1;
    std::string artifacts;
    std::vector<fs::path> paths;
};

Options parse(int count, char **arguments) {
    Options options;
    for (int i = 1; i < count; ++i) {
        const std::string_view argument = arguments[i];
        const std::size_t equals = argument.find('=');
        const std::string value(equals == argument.npos ? "" : argument.substr(equals + 1));
        if (argument.starts_with("-max_total_time=")) {
            options.seconds = std::stod(value);
        } else if (argument.starts_with("-runs=")) {
            options.runs = std::stoull(value);
        } else if (argument.starts_with("-seed=")) {
            options.seed = std::stoull(value);
        } else if (argument.starts_with("-artifact_prefix=")) {
            options.artifacts = value;
        } else if (argument.starts_with("-")) {
            std::fprintf(stderr, "unknown option %s\n", arguments[i]);
            std::exit(2);
        } else {
            options.paths.emplace_back(argument);
        }
    }
    return options;
}

std::vector<Bytes> stored(const std::vector<fs::path> &paths) {
    std::vector<fs::path> files;
    for (const fs::path &path : paths) {
        if (fs::is_directory(path)) {
            for (const auto &entry : fs::directory_iterator(path)) {
                files.push_back(entry.path());
            }
        } else {
            files.push_back(path);
        }
    }
    std::sort(files.begin(), files.end());  // directory iterators have no fixed order
    std::vector<Bytes> inputs;
    for (const fs::path &file : files) {
        std::ifstream stream(file, std::ios::binary);
        if (!stream) {
            std::fprintf(stderr, "cannot read %s\n", file.c_str());
            std::exit(2);
        }
        inputs.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
    }
    return inputs;
}

/// The input that is running, in a file that survives a crash.
class Current {
public:
    explicit Current(const std::string &path) : path_(path) {
        descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        void *const mapped = mmap(nullptr, MAX_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
        if (descriptor_ < 0 || mapped == MAP_FAILED) {
            std::perror(path.c_str());
            std::exit(2);
        }
        memory_ = static_cast<std::uint8_t *>(mapped);
    }
    ~Current() {
        munmap(memory_, MAX_BYTES);
        close(descriptor_);
        unlink(path_.c_str());
    }
    Current(const Current &) = delete;
    Current &operator=(const Current &) = delete;

    void run(const Bytes &bytes) {
        if (bytes.size() > MAX_BYTES || ftruncate(descriptor_, static_cast<off_t>(bytes.size())) != 0) {
            return;
        }
        std::memcpy(memory_, bytes.data(), bytes.size());
        LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    }

private:
    static constexpr std::size_t MAX_BYTES = std::size_t{1} << 20;

    std::string path_;
    int descriptor_;
    std::uint8_t *memory_;
};

/// Store an input in the first folder, named by its hash.
void store(const std::vector<fs::path> &paths, const Bytes &bytes) {
    if (paths.empty() || !fs::is_directory(paths[0])) {
        return;
    }
    std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
    for (const std::uint8_t byte : bytes) {
        hash = (hash ^ byte) * 0x100000001B3;
    }
    char name[17];
    std::snprintf(name, sizeof name, "%016llx", static_cast<unsigned long long>(hash));
    std::ofstream(paths[0] / name, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

int run(int count, char **arguments) {
    const Options options = parse(count, arguments);
    const std::string name = fs::path(arguments[0]).filename();
    Current current(options.artifacts + "crash-" + name);
    std::vector<Input> corpus;
    for (const Bytes &bytes : stored(options.paths)) {
        current.run(bytes);
        corpus.push_back(read(bytes));
    }
    const std::size_t given = corpus.size();
    if (corpus.empty()) {
        corpus.emplace_back();
    }
    const std::size_t given_edges = covered_edges();
    Random random(options.seed);
    const auto start = std::chrono::steady_clock::now();
    const auto over = [&] {
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
        return options.seconds > 0 && passed.count() >= options.seconds;
    };
    std::uint64_t runs = 0;
    std::size_t known = covered_edges();
    for (; runs < options.runs && !over(); ++runs) {
        Input input = mutated(corpus, random);
        const Bytes bytes = written(input);
        current.run(bytes);
        if (covered_edges() != known) {
            known = covered_edges();
            store(options.paths, bytes);
            corpus.push_back(std::move(input));
        }
    }
    std::printf("%s: %zu inputs covered %zu edges; %llu more runs, %zu edges, %zu inputs kept\n", name.c_str(), given,
                given_edges, static_cast<unsigned long long>(runs), covered_edges(), corpus.size());
    return 0;
}

}  // namespace
}  // namespace lanesum::fuzz

int main(int count, char **arguments) { return lanesum::fuzz::run(count, arguments); }
