# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Parser of simplified P4: the text that p4c prints after its front end (``--top4 FrontEndLast``).

In that text all types are explicit, includes and macros are expanded, and sub-controls and sub-parsers are inlined,
with their control-plane names in ``@name`` annotations. It does not accept all of P4_16.
"""

from __future__ import annotations

from lanesum_switch.bmv2.fields import MAX_ID
from lanesum_switch.tna import syntax as p4
from lanesum_switch.tna.statements import Annotations, StatementReader


def parse(text: str) -> p4.ProgramSource:
    """Parse a program. Raises InvalidArgumentError with the line of invalid text."""
    return _Program(text).read()


class _Program(StatementReader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.program = p4.ProgramSource()

    def read(self) -> p4.ProgramSource:
        while self.token.kind != "end":
            self._declaration()
        return self.program

    def _declaration(self) -> None:
        if self.accept(";"):
            return
        annotations = self.annotations()
        word = self.token.text
        program = self.program
        if word == "error":
            self.take()
            self.expect("{")
            program.errors += tuple(self.many(self.name, "}"))
        elif word == "match_kind":
            self.take()
            self.balanced("{", "}")
        elif word == "extern":
            self._skip_extern()
        elif word == "package":
            self._skip_to_semicolon()
            program.architecture = annotations.texts.get("pkginfo.arch", program.architecture)
        elif word == "typedef":
            self.take()
            kind = self.type()
            name = self._declared()
            program.typedefs[name] = kind
            self.expect(";")
        elif word == "const":
            self.take()
            self.type()
            name = self.name()
            self.expect("=")
            program.constants[name] = self.expression()
            self.expect(";")
        elif word == "enum":
            self._enumeration()
        elif word in ("struct", "header"):
            self._record()
        elif word == "action":
            action = self._action(annotations)
            program.actions[action.name] = action
        elif word in ("parser", "control"):
            self._block()
        else:
            instance = self._instantiation(annotations)
            program.instances[instance.name] = instance

    def _declared(self) -> str:
        name = self.name()
        self.type_names.add(name)
        return name

    def _skip_extern(self) -> None:
        self.take()
        if self.tokens[self.at + 1].text in ("{", "<") and self.tokens[self.at].kind == "name":
            self.type_names.add(self.token.text)
        while not self.is_at("{", ";"):
            self.take()
        if self.is_at("{"):
            self.balanced("{", "}")
        else:
            self.take()

    def _skip_to_semicolon(self) -> None:
        while not self.accept(";"):
            if self.take().kind == "end":
                self.at -= 1
                self.fail("';'")

    def _enumeration(self) -> None:
        self.take()
        kind = self.type() if self.is_at("bit", "int") else None
        name = self._declared()
        members: dict[str, int] = {}
        self.expect("{")

        def member() -> None:
            label = self.name()
            value = len(members)
            if self.accept("="):
                value = self.whole_number(0, MAX_ID)
            members[label] = value

        self.many(member, "}")
        self.program.enumerations[name] = p4.Enumeration(name, kind, members)

    def _record(self) -> None:
        header = self.take().text == "header"
        name = self._declared()
        self.expect("{")
        fields: list[tuple[str, p4.Type]] = []
        while not self.accept("}"):
            self.annotations()
            kind = self.type()
            fields.append((self.name(), kind))
            self.expect(";")
        self.program.records[name] = p4.Record(name, header, tuple(fields))

    def _parameters(self) -> tuple[p4.Parameter, ...]:
        def parameter() -> p4.Parameter:
            annotations = self.annotations()
            direction = self.take().text if self.is_at("in", "out", "inout") else ""
            kind = self.type()
            name = self.name()
            return p4.Parameter(direction, kind, name, annotations.control_name(name))

        self.expect("(")
        return tuple(self.many(parameter, ")"))

    def _block(self) -> None:
        kind = self.take().text
        if self.tokens[self.at + 1].text == "<":  # a type of the architecture
            self._skip_to_semicolon()
            return
        block = p4.BlockDeclaration(kind, self.name(), self._parameters())
        if self.accept(";"):
            return
        self.expect("{")
        while not self.accept("}"):
            self._local(block)
        self.program.blocks[block.name] = block

    def _local(self, block: p4.BlockDeclaration) -> None:
        annotations = self.annotations()
        word = self.token.text
        if word == "action":
            action = self._action(annotations)
            block.actions[action.name] = action
        elif word == "table":
            table = self._table(annotations)
            block.tables[table.name] = table
        elif word == "state":
            state = self._state()
            block.states[state.name] = state
        elif word == "apply":
            self.take()
            block.body = self.body()
        elif self.is_variable():
            block.variables.append(self.variable())
        else:
            block.instances.append(self._instantiation(annotations))

    def _instantiation(self, annotations: Annotations) -> p4.Instantiation:
        line = self.token.line
        kind = self.type()
        if not isinstance(kind, p4.NamedType):
            self.fail("a declaration")
        self.expect("(")
        args = tuple(self.many(self.expression, ")"))
        name = self.name()
        functions: list[p4.Function] = []
        if self.accept("="):
            self.expect("{")
            while not self.accept("}"):
                self.annotations()
                self.type()
                functions.append(p4.Function(self.name(), self._parameters(), self.body()))
        self.expect(";")
        return p4.Instantiation(kind, args, name, annotations.control_name(name), tuple(functions), line)

    def _action(self, annotations: Annotations) -> p4.ActionDeclaration:
        line = self.take().line
        name = self.name()
        return p4.ActionDeclaration(name, annotations.control_name(name), self._parameters(), self.body(), line)

    def _table(self, annotations: Annotations) -> p4.TableDeclaration:
        line = self.take().line
        name = self.name()
        keys: list[p4.Key] = []
        actions: list[str] = []
        entries: list[p4.EntryDeclaration] = []
        has_entries = entries_const = False
        properties: dict[str, p4.Property] = {}
        self.expect("{")
        while not self.accept("}"):
            self.annotations()
            const = self.accept("const")
            word = self.name()
            self.expect("=")
            if word == "key":
                self.expect("{")
                while not self.accept("}"):
                    keys.append(self._key())
            elif word == "actions":
                self.expect("{")
                while not self.accept("}"):
                    actions.append(self._action_ref())
            elif word == "entries":
                has_entries, entries_const = True, const
                self.expect("{")
                while not self.accept("}"):
                    entries.append(self._entry())
            else:
                properties[word] = p4.Property(self.expression(), const)
                self.expect(";")
        return p4.TableDeclaration(
            name, annotations.control_name(name), tuple(keys), tuple(actions), tuple(entries), has_entries,
            entries_const, properties, line,
        )  # fmt: skip

    def _key(self) -> p4.Key:
        start = self.at
        expr = self.expression()
        text = "".join(token.text for token in self.tokens[start : self.at])
        self.expect(":")
        kind = self.name()
        annotations = self.annotations()
        self.expect(";")
        return p4.Key(expr, kind, annotations.texts.get("name", text))

    def _action_ref(self) -> str:
        self.annotations()
        self.accept(".")
        name = self.name()
        if self.is_at("("):
            self.balanced("(", ")")
        self.expect(";")
        return name

    def _entry(self) -> p4.EntryDeclaration:
        self.accept("const")
        priority = None
        if self.is_at("priority"):
            self.take()
            self.expect("=")
            priority = self.whole_number(0, MAX_ID)
            self.expect(":")
        keys = self.key_sets()
        self.expect(":")
        action = self.expression()
        self.annotations()
        self.expect(";")
        if not isinstance(action, p4.CallExpression):
            action = p4.CallExpression(action, (), ())
        return p4.EntryDeclaration(keys, action, priority)

    def _state(self) -> p4.StateDeclaration:
        line = self.take().line
        name = self.name()
        self.expect("{")
        body: list[p4.Statement] = []
        while not self.is_at("transition", "}"):
            body += self.statement()
        if self.accept("}"):
            return p4.StateDeclaration(name, tuple(body), (), (p4.TransitionStatement((), "reject"),), line)
        self.take()
        if not self.accept("select"):
            target = self.name()
            self.expect(";")
            self.expect("}")
            return p4.StateDeclaration(name, tuple(body), (), (p4.TransitionStatement((), target),), line)
        self.expect("(")
        subjects = tuple(self.many(self.expression, ")"))
        self.expect("{")
        cases: list[p4.TransitionStatement] = []
        while not self.accept("}"):
            keys = self.key_sets()
            self.expect(":")
            cases.append(p4.TransitionStatement(keys, self.name()))
            self.expect(";")
        self.expect("}")
        return p4.StateDeclaration(name, tuple(body), subjects, tuple(cases), line)
