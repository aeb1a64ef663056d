# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Planted bugs of the package lanesum_control."""

from __future__ import annotations

from tests.planted.bug import bugs

_CONTROL = "control_plane/lanesum_control"

PLACEMENT = (
    *bugs(
        "placement",
        f"{_CONTROL}/planner/placement.py",
        ("a rack's switch sums although it is not available", "elif rack.switch in unavailable:", "elif False:"),
        (
            "a single switch does not know of the quorum",
            "Role.ASCEND | Role.QUORUM if quorum else NO_ROLE",
            "Role.ASCEND if quorum else NO_ROLE",
        ),
        ("workers at the upper switch send aggregates", "aggregate=rack.switch != name,", "aggregate=True,"),
        ("more racks than a packet names", "racks = _racks(by_switch, network.upper, direct=False)", "pass"),
        (
            "a rack with a quorum has an uplink",
            "uplinks = () if quorum else network.uplinks(rack.switch)",
            "uplinks = network.uplinks(rack.switch)",
        ),
        (
            "the upper switch sums incomplete racks",
            "missing = [rack.switch for rack in racks if rack.switch in left_out]",
            "missing = []",
        ),
        ("all jobs combine in the same pipe", "largest[number % len(largest)]", "largest[0]"),
        ("a rack of one bitmap has one worker too few", "at : at + MAX_WORKERS]", "at : at + MAX_WORKERS - 1]"),
    ),
    *bugs(
        "placement",
        f"{_CONTROL}/planner/fits.py",
        ("the upper switch sums operations that no rack sums", "left &= set(done[assignment.switch])", "pass"),
    ),
    *bugs(
        "placement",
        f"{_CONTROL}/planner/planning.py",
        (
            "a shared slot range is used as an own one",
            "role=assignment.role | Role.SHARED if slots.shared else assignment.role,",
            "role=assignment.role,",
        ),
        (
            "a code table is installed without an operation that needs it",
            "code_table=job.code_table if any(op.shape.lookup for op in ops) else None,",
            "code_table=job.code_table,",
        ),
    ),
    *bugs(
        "placement",
        f"{_CONTROL}/planner/network.py",
        (
            "the server beside the upper switch is bypassed",
            "return () if self.beside_upper([switch]) else (self.seen",
            "return (self.seen",
        ),
        ("a job cannot use the last host", "if len(hosts) < len(addresses):", "if len(hosts) <= len(addresses):"),
    ),
    *bugs(
        "placement",
        "fabric/lanesum_fabric/program/capabilities.py",
        ("a job has the word of no owner", "if word == 0:", "if False:"),
        ("one multicast group too many", 'names.param_bits(ADMIT, "group")) - 1', 'names.param_bits(ADMIT, "group"))'),
        ("members of several pipes are summed in one", "if len(here) > 1:", "if len(here) > 2:"),
    ),
)

QUOTAS = (
    *bugs(
        "quotas",
        f"{_CONTROL}/planner/quotas.py",
        ("a share of 0 is accepted", "if not 0 < self.share <= 1:", "if not 0 <= self.share <= 1:"),
        ("the last entry of a table is not used", "if used + count > size:", "if used + count >= size:"),
        ("a tenant fills a switch", "if tenant is not None and its + count > part:", "if False:"),
        (
            "admissions are saved beyond a minute",
            "min(per_minute, left + (now - since) * rate)",
            "left + (now - since) * rate",
        ),
        ("an admission is taken with a part of a token", "if left < 1:", "if left <= 0:"),
    ),
    *bugs(
        "quotas",
        f"{_CONTROL}/planner/placement.py",
        (
            "receivers in several pipes are not counted",
            '"receiver": hosts if by_pipe else len(self.members),',
            '"receiver": len(self.members),',
        ),
    ),
    *bugs(
        "quotas",
        f"{_CONTROL}/planner/planning.py",
        ("a tenant has one job too many", "if len(jobs) > quota.jobs:", "if len(jobs) > quota.jobs + 1:"),
        ("streams of workers are not limited", "if streams > limit:", "if False:"),
    ),
    *bugs(
        "quotas",
        f"{_CONTROL}/planner/allocation.py",
        (
            "adjacent ranges overlap",
            "self.base < other.end and other.base < self.end",
            "self.base <= other.end and other.base <= self.end",
        ),
        (
            "one slot too many is guaranteed",
            "for claim in jobs) <= slots:",
            "for claim in jobs) <= slots + 1:",
        ),
        ("a shared range goes beyond its pool", "if base + count > pool.end:", "if False:"),
        (
            "a job gets more slots than it asks for",
            "min([claim.slots - claim.quota, *(free",
            "min([claim.slots, *(free",
        ),
        (
            "low priorities come first",
            "-self.priority, self.order, self.job)",
            "self.priority, self.order, self.job)",
        ),
        (
            "ranges grow before others are cut",
            "kept = {job: old[job].common(new[job]) for",
            "kept = {job: new[job] for",
        ),
        ("a range of a job is kept beyond the slots", "if here.end > slots or any(", "if any("),
    ),
)

SWITCHES = (
    *bugs(
        "reconcile",
        f"{_CONTROL}/switches/reconcile.py",
        (
            "a changed multicast group stays",
            "again = [item for item in changed if item.kind in (MEMBER, _GROUP)]",
            "again = [item for item in changed if item.kind == MEMBER]",
        ),
        ("entries leave before their members", "for members in (True, False):", "for members in (False, True):"),
        ("default entries are deleted", "if entry.is_default_action:", "if False:"),
        (
            "entries of ended jobs stay",
            "unexpected = [item for key, item in found.items() if key not in wanted]",
            "unexpected = []",
        ),
        (
            "a changed prefix length is not found",
            'int.from_bytes(field.lpm.value, "big"), field.lpm.prefix_len',
            'int.from_bytes(field.lpm.value, "big"), 0',
        ),
        (
            "parameters are not compared",
            'value = (action.action_id, *sorted((p.param_id, int.from_bytes(p.value, "big")) for p in action.params))',
            "value = (action.action_id,)",
        ),
    ),
    *bugs(
        "reconcile",
        f"{_CONTROL}/controller/reconciler.py",
        (
            "sums are back although no switch sums them",
            "(known.keys() - reasons.keys()) & summing",
            "known.keys() - reasons.keys()",
        ),
    ),
    *bugs(
        "reconcile",
        "fabric/lanesum_fabric/program/pipelines.py",
        ("another P4Info has the same cookie", "self.program + self.p4info.encode()", "self.program"),
    ),
    *bugs(
        "reconcile",
        f"{_CONTROL}/switches/session.py",
        (
            "a mastership that was lost meanwhile counts",
            "self.was_primary &= is_primary",
            "self.was_primary = is_primary",
        ),
        (
            "the election id loses its high half",
            "election_id.high, request.arbitration.election_id.low = self.election_id",
            "election_id.low, request.arbitration.election_id.low = self.election_id",
        ),
    ),
    *bugs(
        "reconcile",
        f"{_CONTROL}/switches/managed.py",
        (
            "a restarted switch is taken for programmed",
            "        if not connection.runs(self._pipeline):\n            raise",
            "        if False:\n            raise",
        ),
        (
            "a differing switch agrees",
            "if now != self._agreed and not differs(",
            "if now != self._agreed or not differs(",
        ),
    ),
    *bugs(
        "reconcile",
        f"{_CONTROL}/servers/controlled_server.py",
        (
            "a server keeps the part of a job that it refused",
            "link.forget(job.job)  # a full disk",
            "pass  # a full disk",
        ),
        (
            "a server is not told that switches sum from now on",
            "return (held.tag, held.on_switches) == (job.tag, job.on_switches)",
            "return held.tag == job.tag",
        ),
    ),
    *bugs(
        "reconcile",
        f"{_CONTROL}/controller/reconciler.py",
        ("a switch that returns is not asked again", "self.forget_refusals(name)", "pass"),
    ),
)

STORE = (
    *bugs(
        "store",
        f"{_CONTROL}/state/store.py",
        ("a ticket of no worker is read", "if not 0 <= worker < len(jobs[number].request.workers):", "if worker < 0:"),
        (
            "the members of a removed job stay",
            'self._db.execute("DELETE FROM meta WHERE name = ?", (members_of(job),))',
            "pass",
        ),
        ("a failed transaction stays open", "self._db.rollback()", "pass"),
        ("a job number is given twice", "while number in used:", "while False:"),
        ("events of the quietest party go first", "ORDER BY count(*) DESC", "ORDER BY count(*) ASC"),
        (
            "ranges of ended jobs stay",
            'self._db.execute_many("DELETE FROM ranges WHERE switch = ?", [(switch,) for switch in changed])',
            "pass",
        ),
        (
            "the last job number is never given",
            '"next_job", number % _MAX_JOB + 1',
            '"next_job", (number + 1) % _MAX_JOB',
        ),
    ),
    *bugs(
        "store",
        f"{_CONTROL}/state/schema.py",
        (
            "a state of a later version is read",
            "if OLDEST_VERSION <= version <= SCHEMA_VERSION:",
            "if OLDEST_VERSION <= version:",
        ),
        (
            "others may read a backup",
            "os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600",
            "os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644",
        ),
        (
            "the first migration is left out",
            "for one in range(version, SCHEMA_VERSION)",
            "for one in range(version + 1, SCHEMA_VERSION)",
        ),
        (
            "entries of no job are accepted",
            'dangling = db.execute("PRAGMA foreign_key_check").fetchone()',
            "dangling = None",
        ),
    ),
    *bugs(
        "store",
        f"{_CONTROL}/state/events.py",
        ("tenants see no admission", "number >= (SELECT first_event", "number > (SELECT first_event"),
        ("the latest events come first", 'LIMIT ?", *(of or ()), limit)[::-1]', 'LIMIT ?", *(of or ()), limit)'),
    ),
    *bugs(
        "standby",
        f"{_CONTROL}/state/leadership.py",
        ("two leaders have one term", "max(self._least_term, term + 1)", "max(self._least_term, term)"),
        (
            "a lease is taken before its end",
            "(until < clock_timestamp() OR NOT EXISTS",
            "(until > '-infinity' OR NOT EXISTS",
        ),
        (
            "a lost leadership is renewed",
            "{_UNTIL} WHERE term = ? RETURNING term",
            "{_UNTIL} WHERE term >= ? RETURNING term",
        ),
    ),
    *bugs(
        "standby",
        f"{_CONTROL}/state/postgresql.py",
        (
            "a commit without an answer keeps the leadership",
            "isinstance(error, driver.PostgresConnectionError) or not",
            "not",
        ),
    ),
)

ACCESS = (
    *bugs(
        "access",
        f"{_CONTROL}/security/access.py",
        (
            "a worker takes over the place of another run",
            "takes_over = caller.role is CallerRole.WORKER and",
            "takes_over = False and",
        ),
        (
            "a worker's certificate opens all jobs",
            "return UNKNOWN if caller.role is CallerRole.WORKER else caller",
            "return caller",
        ),
        (
            "callers without a name see jobs without an owner",
            '(caller.name != "" and caller.name == own)',
            "caller.name == own",
        ),
        (
            "a worker with the name of a tenant sees its jobs",
            "own = owner if caller.role is CallerRole.TENANT else job",
            "own = owner",
        ),
        ("calls by number are not checked", "if method in _BY_NUMBER:", "if False:"),
        (
            "a filter by job shows all jobs",
            'of_all_jobs = method in _OF_ALL_JOBS and "job" not in message',
            "of_all_jobs = method in _OF_ALL_JOBS",
        ),
    ),
    *bugs(
        "access",
        f"{_CONTROL}/security/tokens.py",
        ("the second line of a caller counts", "if match is None or match[1] in found:", "if match is None:"),
        (
            "a token file of the same second is not read again",
            "stamp = stat.st_mtime_ns, stat.st_ino, stat.st_size",
            "stamp = int(stat.st_mtime), 0, 0",
        ),
    ),
    *bugs(
        "access",
        f"{_CONTROL}/cli/token.py",
        ("the file of the earlier token stays", "output.commit()", "pass"),
    ),
    *bugs(
        "access",
        f"{_CONTROL}/security/certs.py",
        (
            "every certificate is an authority",
            "x509.BasicConstraints(ca=False, path_length=None)",
            "x509.BasicConstraints(ca=True, path_length=None)",
        ),
        ("certificates of callers are for servers only", "usages.append(ExtendedKeyUsageOID.CLIENT_AUTH)", "pass"),
        (
            "a clock that is behind refuses new certificates",
            ".not_valid_before(min(now, end) - _CLOCK_SKEW)",
            ".not_valid_before(min(now, end))",
        ),
        ("a second authority replaces the first", 'if (own / "ca.key").exists():', "if False:"),
        ("a certificate has the name of the authority's folder", " or name == AUTHORITY_FOLDER:", ":"),
    ),
    *bugs(
        "access",
        "host/lanesum/_internal/output_file.py",
        ("others may read a private file", "mode = 0o600 if private", "mode = 0o644 if private"),
        ("an output that was not completed stays", "if not self._committed:", "if False:"),
        ("others may enter a private folder", "mode=0o700 if private", "mode=0o755 if private"),
    ),
)

ADMISSION = (
    *bugs(
        "admission",
        f"{_CONTROL}/jobs/records.py",
        ("a job names a host twice", "if len(set(self.workers)) != len(self.workers):", "if False:"),
        ("a token hash has a suffix", 're.fullmatch("([0-9a-f]{64})?"', 're.match("([0-9a-f]{64})?"'),
        (
            "a quota exceeds the slots of its job",
            '"quota": (self.guaranteed, 0, self.in_flight),',
            '"quota": (self.guaranteed, 0, MAX_SLOTS),',
        ),
        ("a job has a name that cannot be printed", "if not self.name.isprintable():", "if False:"),
        (
            "a quota stays after a job has shrunk",
            "return min(self.request.guaranteed, self.incarnation.slots)",
            "return self.request.guaranteed",
        ),
        (
            "a quorum of all workers is one",
            "return self.quorum if self.quorum < len(self.workers) else 0",
            "return self.quorum",
        ),
    ),
    *bugs(
        "admission",
        f"{_CONTROL}/controller/controller.py",
        (
            "a tenant takes the job of another one",
            "if caller.role is not CallerRole.OPERATOR and caller.name != job.owner:",
            "if False:",
        ),
        ("quotas do not bind tenants", "limited = caller.role is not CallerRole.OPERATOR", "limited = False"),
        ("the last worker leaves", "if len(hosts) == 1:", "if len(hosts) == 0:"),
        (
            "the wrong worker leaves",
            "workers=hosts[:gone] + hosts[gone + 1 :]",
            "workers=hosts[: gone + 1] + hosts[gone + 2 :]",
        ),
        ("a job without a lease's end is removed", "if self.workers.is_expired(job):", "if True:"),
    ),
    *bugs(
        "admission",
        f"{_CONTROL}/jobs/names.py",
        ("a job has the name of a switch", "if name in parts:", "if False:"),
    ),
    *bugs(
        "admission",
        f"{_CONTROL}/controller/startup.py",
        ("workers that a topology moved keep their tickets", "(before ^ now) % JOINED", "False"),
    ),
    *bugs(
        "admission",
        f"{_CONTROL}/controller/messages.py",
        ("text has a NUL character", 'if "\\0" in str(value):', "if False:"),
    ),
    *bugs(
        "admission",
        f"{_CONTROL}/controller/service.py",
        ("a time beyond 64 bits is asked for", " or abs(since_s) >= 1 << 63:", ":"),
    ),
    *bugs(
        "admission",
        f"{_CONTROL}/jobs/joining.py",
        (
            "a living worker is replaced before the start",
            "(silent_s > CLAIM_LAPSE_S and not alive)",
            "silent_s > CLAIM_LAPSE_S",
        ),
        ("tickets of an earlier incarnation are valid", "if tag != now.tag or not 0 <= worker", "if not 0 <= worker"),
        ("a second run takes a living worker", "if job.started and alive:", "if False:"),
        ("a worker waits for those that joined", "if taken.description is None]", "if taken.description is not None]"),
    ),
    *bugs(
        "admission",
        f"{_CONTROL}/jobs/failing_devices.py",
        ("each worker counts a failed chunk", "max(0, count - before)", "count"),
        ("failures of any time leave a switch out", " if time_s > now - WINDOW_S", ""),
        ("a report is counted again", "self._numbers[key] = one.number", "pass"),
        ("partial sums of racks are never wrong", "for device in devices:", "for device in devices[:1]:"),
    ),
    *bugs(
        "admission",
        f"{_CONTROL}/jobs/liveness.py",
        ("a worker has one stream too few", "streams[:-STREAMS_PER_WORKER]", "streams[: 1 - STREAMS_PER_WORKER]"),
        (
            "a worker that failed lives again",
            "if worker in gone and gone[worker].kind == rpc.LOST:",
            "if worker in gone:",
        ),
        (
            "a worker is lost before it can reconnect",
            "CUT_OFF_RECONNECT_S if is_cut_off else RECONNECT_S",
            "CUT_OFF_RECONNECT_S if is_cut_off else 0.0",
        ),
        ("a watch repeats an answer without news", "changed = answer != self._last", "changed = True"),
        (
            "a second report replaces the first cause",
            "        if worker in self.gone(job, tag):\n            return False\n",
            "",
        ),
    ),
    *bugs(
        "admission",
        f"{_CONTROL}/controller/workers.py",
        ("any process reports failed chunks", "if is_own and failed_chunks:", "if failed_chunks:"),
        (
            "a stream of an earlier incarnation keeps a job",
            "is not None and job.incarnation.tag == watch.key[1]:",
            "is not None:",
        ),
        (
            "workers are asked without a pause",
            "now >= self._asked.get(job, -math.inf) + _ASK_S",
            "now >= self._asked.get(job, -math.inf)",
        ),
        ("a lease of 0 ends at once", "(job.request.lease_s or math.inf)", "job.request.lease_s"),
        (
            "a standby removes jobs before their workers reconnect",
            "return max(self._grace_end, self._job_seen",
            "return max(0.0, self._job_seen",
        ),
    ),
    *bugs(
        "metrics",
        "fabric/lanesum_fabric/metrics/families.py",
        (
            "long labels with one beginning are one",
            "return label[: _MAX_LABEL - len(end)] + end",
            "return label[:_MAX_LABEL]",
        ),
    ),
    *bugs(
        "cli",
        f"{_CONTROL}/cli/job.py",
        ("a number of an event beyond 64 bits is asked for", "len(text) < 19:", "len(text) < 40:"),
        ("hours are minutes", '"h": 3600', '"h": 60'),
    ),
    *bugs(
        "cli",
        f"{_CONTROL}/controller/process.py",
        (
            "a full disk ends the controller",
            "with contextlib.suppress(OSError):  # closed terminal",
            "with contextlib.suppress(BrokenPipeError):  # closed terminal",
        ),
        ("an address is in use by itself", "return bool(found.getsockname() != found.getpeername())", "return True"),
    ),
)

CONTROL_BUGS = PLACEMENT + QUOTAS + SWITCHES + STORE + ACCESS + ADMISSION
