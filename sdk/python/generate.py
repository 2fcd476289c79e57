#!/usr/bin/env python3
"""Writes meup/types.py from the schemas of the payloads; with --check, compares it.

    python3 generate.py [--check]
"""

from __future__ import annotations

import json
import keyword
import sys
import textwrap
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SCHEMAS = HERE.parent.parent / "schemas"
TARGET = HERE / "meup" / "types.py"

HEADER = '''"""Types of the payloads. Written by generate.py from schemas/: do not edit.

Unless a description says otherwise, a payload may have more fields.
"""

from __future__ import annotations

from typing import Any, Literal, Required, TypedDict, Union

'''

PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


class Generator:
    """Turns schemas into classes; nested objects with properties get a class of their own."""

    def __init__(self) -> None:
        self.common: dict[str, Any] = json.loads((SCHEMAS / "common.schema.json").read_text())["$defs"]
        self.classes: list[str] = []

    def resolve(self, schema: Any) -> dict[str, Any]:
        """Follow a reference to a common part."""
        if not isinstance(schema, dict):
            return {}
        ref = schema.get("$ref", "")
        if not ref:
            return schema
        name = ref.rpartition("/")[2]
        if "common.schema.json#/$defs/" not in ref or name not in self.common:
            raise ValueError(f"unknown reference {ref}")
        return {**self.common[name], **{k: v for k, v in schema.items() if k != "$ref"}}

    def type_of(self, schema: Any, name: str) -> str:
        """Return the annotation for a schema. name is for a class, if it needs one."""
        schema = self.resolve(schema)
        if "enum" in schema:
            return f"Literal[{', '.join(json.dumps(v) for v in schema['enum'])}]"
        kinds = schema.get("type")
        if kinds is None:
            return "Any"
        kinds = [kinds] if isinstance(kinds, str) else kinds
        parts = [self.plain(kind, schema, name) for kind in kinds]
        parts = [p for p in parts if not (p == "int" and "float" in parts)]
        return parts[0] if len(parts) == 1 else f"Union[{', '.join(parts)}]"

    def plain(self, kind: str, schema: dict[str, Any], name: str) -> str:
        if kind == "array":
            return f"list[{self.type_of(schema['items'], name + 'Item')}]" if "items" in schema else "list[Any]"
        if kind != "object":
            return PLAIN[kind]
        if not schema.get("properties") or isinstance(schema.get("type"), list):
            return "dict[str, Any]"
        self.write(name, schema)
        return name

    def write(self, name: str, schema: dict[str, Any]) -> None:
        """Add the class of an object."""
        required = schema.get("required", [])
        fields: list[str] = []
        for field, sub in schema.get("properties", {}).items():
            if not field.isidentifier() or keyword.iskeyword(field):
                raise ValueError(f"{name}: {field} is no name of a field")
            hint = self.type_of(sub, name + camel(field))
            if field in required:
                hint = f"Required[{hint}]"
            for line in textwrap.wrap(self.resolve(sub).get("description", ""), 110):
                fields.append(f"    # {line}")
            fields.append(f"    {field}: {hint}")
        doc = schema.get("description") or schema.get("title") or name
        doc = "\n    ".join(textwrap.wrap(doc, 110))
        body = "\n".join(fields)
        quotes = '"""'
        text = f"class {name}(TypedDict, total=False):\n    {quotes}{doc}{quotes}\n"
        self.classes.append(text + (f"\n{body}\n" if body else ""))


def camel(text: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in text.replace(".", "_").replace("-", "_").split("_"))


def generate() -> str:
    """Return the text of the module."""
    generator = Generator()
    kinds: list[tuple[str, str]] = []
    for path in sorted((SCHEMAS / "payload").glob("*.schema.json")):
        kind = path.name.removesuffix(".schema.json")
        kinds.append((kind, camel(kind)))
        generator.write(camel(kind), json.loads(path.read_text()))
    table = "".join(f'    "{kind}": {name},\n' for kind, name in kinds)
    tail = f"# PAYLOADS are the types of the payloads by kind.\nPAYLOADS: dict[str, Any] = {{\n{table}}}\n"
    return HEADER + "\n" + "\n\n".join(generator.classes) + "\n\n" + tail


def main() -> int:
    text = generate()
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text)
        return 0
    if not TARGET.exists() or TARGET.read_text() != text:
        print(f"{TARGET.name} does not match the schemas: run python3 generate.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
