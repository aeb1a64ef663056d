# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Planted bugs of the other parts of the package lanesum."""

from __future__ import annotations

from tests.planted.bug import bugs

_HOST = "host/lanesum"

SESSION = (
    *bugs(
        "session",
        f"{_HOST}/session/all_gather.py",
        (
            "sizes of gathered arrays are not compared",
            "if (checks != checks[context.worker]).any():",
            "if False:",
        ),
        (
            "an all-gather by a widening operation",
            "_OPS = (LaneOp.ADD32, LaneOp.OR, LaneOp.MAX, LaneOp.ADD8X4)",
            "_OPS = (LaneOp.EXPAND8, LaneOp.ADD32, LaneOp.OR, LaneOp.MAX)",
        ),
        (
            "descriptions of gathered arrays have no checksum",
            "x.size % (1 << 32), checksum",
            "x.size % (1 << 32), 0",
        ),
        (
            "padding of gathered bytes stays",
            "[:, : x.size])",
            "[:, : -(-x.size // WORD_BYTES) * WORD_BYTES])",
        ),
        (
            "a job with a quorum gathers",
            "if ticket.quorum not in (0, ticket.workers):",
            "if False:",
        ),
    ),
    *bugs(
        "session",
        f"{_HOST}/session/all_reduce.py",
        (
            "parts of a gathered round follow each other",
            "_joined(all_words, self.workers if self.round.gathered else 1)",
            "_joined(all_words)",
        ),
        (
            "a gathered round is divided as if it had one shard",
            "in_turn = workers if round_.scattered or round_.gathered else 1",
            "in_turn = workers if round_.scattered else 1",
        ),
    ),
    *bugs(
        "codecs",
        f"{_HOST}/codecs/tensors.py",
        (
            "gathered tensors stay conjugated",
            ".resolve_conj().resolve_neg().cpu()",
            ".resolve_neg().cpu()",
        ),
    ),
    *bugs(
        "session",
        f"{_HOST}/session/all_reduce.py",
        (
            "parameters of two buckets do not wait for each other",
            "return not set(self.names).isdisjoint(earlier.names)",
            "return self.names == earlier.names",
        ),
        (
            "a codec is its own predecessor only by name",
            "if self.codec is not earlier.codec or not self.codec",
            "if not self.codec",
        ),
        (
            "a codec may make more rounds than it announced",
            "if self.num_rounds + more > self.max_rounds:",
            "if False:",
        ),
    ),
    *bugs(
        "session",
        f"{_HOST}/session/scheduler.py",
        (
            "later all-reduces begin before one with rounds left",
            "            if not all_reduce.all_rounds_started:\n                return False\n",
            "",
        ),
    ),
    *bugs(
        "session",
        f"{_HOST}/session/lengths.py",
        (
            "the wrong worker is named for NaN",
            "length = _MARK - ticket.worker if not_finite else size",
            "length = _MARK if not_finite else size",
        ),
        ("two different lengths agree", "if len(sizes) > 1:", "if len(sizes) > 2:"),
        ("a description must be on all workers", "*_values(op, words)} - {0}) > 1:", "*_values(op, words)}) > 1:"),
    ),
    *bugs(
        "session",
        f"{_HOST}/session/session.py",
        ("a codec for fewer workers is used", "if codec.workers < ticket.workers:", "if False:"),
        (
            "another code table than the job's is used",
            "if table is not None and table != ticket.code_table:",
            "if table is not None and ticket.code_table is None:",
        ),
        (
            "a codec that needs all workers runs with a quorum",
            "if codec.traits.needs_all_workers and ticket.quorum",
            "if False and ticket.quorum",
        ),
        (
            "a strided array is gathered as if it were contiguous",
            "flags.c_contiguous and flags.aligned",
            "flags.aligned",
        ),
        ("all rounds have the same random bits", "round=self._num_all_reduces,", "round=0,"),
        ("integers are summed as floats", 'if array.dtype.kind != "f":', 'if array.dtype.kind == "c":'),
    ),
)

RPC = (
    *bugs(
        "rpc",
        f"{_HOST}/rpc/calls.py",
        (
            "a caller may have any number of calls in work",
            "if self._share.waiting > self._limits.waiting:",
            "if False:",
        ),
        ("messages twice as long are read", "and len(data) > max_bytes:", "and len(data) > 2 * max_bytes:"),
        ("a stream counts for ever", "self._share.streams -= self._streams", "pass"),
        ("a long error is sent whole", "<= _MAX_ENCODED_BYTES:", "<= 1 << 20:"),
    ),
    *bugs(
        "rpc",
        f"{_HOST}/rpc/limits.py",
        ("an idle caller saves calls without limit", "max(self._due, now - self._burst_s)", "self._due"),
    ),
    *bugs(
        "rpc",
        f"{_HOST}/rpc/tls.py",
        (
            "a certificate with two identities is accepted",
            "if len(uris) != 1:",
            "if not uris:",
        ),
        ("an identity may have a suffix", "_IDENTITY.fullmatch(", "_IDENTITY.match("),
        ("a token travels unencrypted", "if folder_for(address) is None and not is_local(address):", "if False:"),
        (
            "tenants may call what is for operators",
            "if caller is None or caller.role is not CallerRole.OPERATOR:",
            "if caller is None:",
        ),
        (
            "a key without a certificate is accepted",
            "if (certificate is None) != (key is None):",
            "if certificate is not None and key is None:",
        ),
        ("any address is local", "or ipaddress.ip_address(host).is_loopback", "or bool(ipaddress.ip_address(host))"),
    ),
    *bugs(
        "rpc",
        f"{_HOST}/rpc/controller.py",
        (
            "a change is carried out twice",
            "if method in CHANGES and is_received:",
            "if False:",
        ),
        ("control characters reach the terminal", 'one if one.isprintable() else "?"', "one"),
        ("a standby is asked first again", "_leaders[addresses] = one", "pass"),
    ),
)

TORCH = (
    *bugs(
        "torch",
        f"{_HOST}/torch/checkpoint.py",
        ("error feedback of a checkpoint is dropped", "if error_feedback is None and residuals:", "if False:"),
        ("a state of another model is loaded", 'check_same_model(parameters, state.get("parameters"))', "pass"),
    ),
    *bugs(
        "torch",
        f"{_HOST}/torch/collectives.py",
        ("the sum is divided", "average=op == dist.ReduceOp.AVG", "average=True"),
    ),
    *bugs(
        "torch",
        f"{_HOST}/torch/hierarchy.py",
        (
            "the mean over hosts is divided twice",
            "own.mul_(len(self.leaders) / dist.get_world_size())",
            "own.div_(dist.get_world_size())",
        ),
        ("LOCAL_RANK beyond LOCAL_WORLD_SIZE is accepted", "if not 0 <= local < size or first < 0", "if first < 0"),
    ),
    *bugs(
        "torch",
        f"{_HOST}/torch/path_choice.py",
        ("the slower path is chosen", "if by_group <= by_lanesum", "if by_group >= by_lanesum"),
        (
            "times of an earlier period count again",
            "self._pairs, self._lead = False, [], 0",
            "self._pairs = False, []",
        ),
    ),
    *bugs(
        "torch",
        f"{_HOST}/torch/state.py",
        ("a tensor without elements starts a round", "if tensor.numel() == 0:", "if False:"),
        ("error feedback is added twice", "if own and error_feedback is not None:", "if False:"),
        ("each bucket counts as a step", "self._num_steps += bucket.is_last()", "self._num_steps += 1"),
        (
            "lossy codecs have no error feedback",
            "biased = not (own or traits.nearly_exact or unbiased)",
            "biased = False",
        ),
        ("every optimizer counts as adaptive", "(self.steps is None or self.steps.adaptive)", "True"),
        ("a restart forgets the optimizer", 'bool(one.get("adaptive", True))', "True"),
    ),
    *bugs(
        "torch",
        f"{_HOST}/torch/step_tracker.py",
        (
            "the last optimizer decides for all",
            "(self.adaptive and bool(self._optimizers)) or _is_adaptive(optimizer)",
            "_is_adaptive(optimizer)",
        ),
        ("SGD counts as adaptive", "(torch.optim.SGD, torch.optim.ASGD, torch.optim.LBFGS)", "(torch.optim.LBFGS,)"),
    ),
    *bugs(
        "torch",
        f"{_HOST}/torch/ddp_hook.py",
        ("a second hook is attached", "for one, state in model._comm_hooks if", "for one, state in [] if"),
    ),
    *bugs(
        "torch",
        f"{_HOST}/torch/admission.py",
        ("jobs of another rank's run are removed", 'name.startswith(f"{run}.")', "name.startswith(run)"),
        ("more ranks than workers share a job", "if workers != len(addresses):", "if workers > len(addresses):"),
    ),
)

LAUNCH = (
    *bugs(
        "launch",
        f"{_HOST}/launch/nodes.py",
        ("0 processes are accepted", "int(text) > 0:", "int(text) >= 0:"),
        ("Slurm's first host has one digit", r"(?:\[(\d+)[^\]]*\]", r"(?:\[(\d)[^\]]*\]"),
        (
            "a rendezvous and a master are passed together",
            'known |= {"master_addr": None, "master_port": None}',
            "pass",
        ),
    ),
    *bugs(
        "launch",
        f"{_HOST}/launch/run_folder.py",
        ("a later failure replaces the first one", '"w" if replace else "x"', '"w"'),
        ("attempt 10 is before attempt 9", "attempt-{number:06}", "attempt-{number}"),
    ),
    *bugs(
        "launch",
        f"{_HOST}/launch/supervisor.py",
        ("a stopped process is not ended", "send_signal(child, signal.SIGCONT)", "pass"),
        ("a process that may end may fail", "(status or child not in may_end)", "child not in may_end"),
    ),
    *bugs(
        "launch",
        f"{_HOST}/launch/torchrun.py",
        (
            "a rank that a signal ended has a negative status",
            "return status if status > 0 else SIGNALED - status",
            "return status",
        ),
        ("a rank that died is named after its victims", "replace=died", "replace=False"),
    ),
    *bugs(
        "launch",
        f"{_HOST}/launch/launcher.py",
        ("the share that is sent is called saved", "{1 - sent / plain:.0%}", "{sent / plain:.0%}"),
        (
            "megabytes are called gigabytes",
            "int(math.log10(max(count, 1)) / 3)",
            "round(math.log10(max(count, 1)) / 3)",
        ),
    ),
    *bugs(
        "launch",
        f"{_HOST}/launch/worker.py",
        ("a module sees -m as its name", "sys.argv = arguments[as_module:]", "sys.argv = arguments"),
    ),
    *bugs(
        "cli",
        f"{_HOST}/cli/app.py",
        ("a call without a command succeeds", "return 0 if arguments else 2", "return 0"),
        ("an interrupted command succeeds", "status = EXIT_INTERRUPTED", "status = 0"),
    ),
    *bugs(
        "cli",
        f"{_HOST}/cli/server.py",
        ("an address without a host is accepted", "if not ip or not port.isdecimal():", "if not port.isdecimal():"),
    ),
    *bugs(
        "cli",
        f"{_HOST}/cli/doctor.py",
        ("doctor succeeds with problems", "return 0 if fine else 1", "return 0"),
    ),
    *bugs(
        "cli",
        f"{_HOST}/cli/signals.py",
        (
            "a full disk ends a service",
            "with contextlib.suppress(OSError):",
            "with contextlib.suppress(BrokenPipeError):",
        ),
    ),
)

HOST_BUGS = SESSION + RPC + TORCH + LAUNCH
