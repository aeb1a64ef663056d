#!/bin/sh
# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
# Compiles the test programs with p4c's Tofino back end and keeps what its front end printed. PYTHON: the interpreter.
set -e
cd "$(dirname "$0")"
python=${PYTHON:-python}
compile() { # program, output, target, architecture, number
    folder=$(mktemp -d)
    p4c-barefoot --target "$3" --arch "$4" "-D__TARGET_TOFINO__=$5" --doNotEmitIncludes \
        --top4 FrontEndLast --dump "$folder" --p4runtime-force-std-externs --p4runtime-files "$folder/p4info.txtpb" \
        -o "$folder/out" "$1.p4" >"$folder/log" 2>&1 || $6 || { cat "$folder/log"; exit 1; }
    "$python" -m lanesum_switch.tna.reduce "$folder"/*FrontEndLast.p4 "$2.printed.p4"
    cp "$folder/p4info.txtpb" "$2.p4info.txtpb"
    rm -r "$folder"
}
compile sum sum tofino tna 1 false
compile sum sum-2 tofino2 t2na 2 false
# The back end refuses how externs uses mirror types; twice passes it, although a packet may access the register twice.
compile externs externs tofino tna 1 true
compile twice twice tofino tna 1 false
