"""JSON Schema of type hints, and the conversion of arguments by them."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import types
import typing
from typing import Any, Callable, Literal, Mapping, Union, get_args, get_origin

_PLAIN: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def schema_of(hint: Any) -> dict[str, Any]:
    """Return the JSON Schema of a type hint. Errors: TypeError for hints without one."""
    if hint is Any or hint is inspect.Parameter.empty:
        return {}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    origin, args = get_origin(hint), get_args(hint)
    if origin is typing.Annotated:
        schema = schema_of(args[0])
        for note in args[1:]:
            if isinstance(note, str):
                schema["description"] = note
            elif isinstance(note, dict):
                schema.update(note)
        return schema
    if origin is Literal:
        return {"enum": list(args)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(arg) for arg in args]}
    if hint in (list, tuple) or origin in (list, typing.Sequence) or origin is not None and origin.__name__ == "Sequence":
        return {"type": "array", "items": schema_of(args[0])} if args else {"type": "array"}
    if hint is dict or origin in (dict, Mapping) or origin is not None and origin.__name__ == "Mapping":
        return {"type": "object", "additionalProperties": schema_of(args[1])} if args else {"type": "object"}
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return {"enum": [member.value for member in hint]}
    if dataclasses.is_dataclass(hint) or typing.is_typeddict(hint):
        fields, required = _fields(hint)
        return _object({name: schema_of(h) for name, h in fields.items()}, required)
    raise TypeError(f"the type hint {hint!r} has no JSON Schema")


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = required
    return schema


def _fields(hint: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the fields of a dataclass or a TypedDict, and the required ones."""
    hints = typing.get_type_hints(hint, include_extras=True)
    if typing.is_typeddict(hint):
        marks = (typing.Required, typing.NotRequired)
        required = [n for n, h in hints.items() if get_origin(h) is marks[0] or hint.__total__ and get_origin(h) is not marks[1]]
        return {n: get_args(h)[0] if get_origin(h) in marks else h for n, h in hints.items()}, required
    fields = [f for f in dataclasses.fields(hint) if f.init]
    missing = dataclasses.MISSING
    return {f.name: hints[f.name] for f in fields}, [f.name for f in fields if f.default is missing and f.default_factory is missing]


def convert(value: Any, hint: Any, path: str = "") -> Any:
    """Return a JSON value as an object of the hinted type. Errors: ValueError with the path."""
    if hint is Any or hint is inspect.Parameter.empty:
        return value
    if hint in _PLAIN:
        return _plain(value, hint, path)
    origin, args = get_origin(hint), get_args(hint)
    if origin is typing.Annotated:
        return convert(value, args[0], path)
    if origin is Literal:
        if not any(value == arg and type(value) is type(arg) for arg in args):
            raise ValueError(f"{path or 'it'} must be one of {', '.join(map(repr, args))}")
        return value
    if origin in (Union, types.UnionType):
        return _union(value, args, path)
    kind = schema_of(hint).get("type")
    if kind == "array":
        if not isinstance(value, list):
            raise ValueError(f"{path or 'it'} must be an array")
        items = [convert(x, args[0], f"{path}/{i}") for i, x in enumerate(value)] if args else value
        return tuple(items) if hint is tuple or origin is tuple else items
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        try:
            return hint(value)
        except ValueError:
            raise ValueError(f"{path or 'it'} must be one of {', '.join(repr(m.value) for m in hint)}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{path or 'it'} must be an object")
    if dataclasses.is_dataclass(hint) or typing.is_typeddict(hint):
        fields, required = _fields(hint)
        members = arguments(value, fields, required, path)
        return hint(**members) if isinstance(hint, type) else members
    return {k: convert(x, args[1], f"{path}/{k}") for k, x in value.items()} if args else value


def arguments(value: Mapping[str, Any], fields: Mapping[str, Any], required: list[str], path: str = "") -> dict[str, Any]:
    """Convert the members of an object. Errors: ValueError."""
    for name in required:
        if name not in value:
            raise ValueError(f"{path}/{name} is missing")
    for name in value:
        if name not in fields:
            raise ValueError(f"{path}/{name} is not known; there are {', '.join(fields) or 'no parameters'}")
    return {name: convert(x, fields[name], f"{path}/{name}") for name, x in value.items()}


_NAMES = {str: "a string", int: "an integer", float: "a number", bool: "true or false", type(None): "null"}


def _plain(value: Any, hint: Any, path: str) -> Any:
    if isinstance(value, bool) and hint is not bool:
        pass
    elif hint is float and isinstance(value, (int, float)):
        return float(value)
    elif hint is int and isinstance(value, float) and value.is_integer():
        return int(value)
    elif isinstance(value, hint):
        return value
    raise ValueError(f"{path or 'it'} must be {_NAMES[hint]}")


def _union(value: Any, args: tuple[Any, ...], path: str) -> Any:
    reasons = []
    for arg in args:
        try:
            return convert(value, arg, path)
        except ValueError as err:
            reasons.append(str(err))
    raise ValueError(" or ".join(dict.fromkeys(reasons)))


def parameters(function: Callable[..., Any], special: type) -> tuple[dict[str, Any], list[str], str]:
    """Return the parameters of a function, the required ones, and the name of the special one.

    Errors: TypeError for parameters that JSON cannot fill.
    """
    hints = typing.get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    required: list[str] = []
    context = ""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{function.__name__}: a tool has named parameters only, not {parameter}")
        hint = hints.get(parameter.name, Any)
        if hint is special:
            context = parameter.name
            continue
        try:
            schema_of(hint)
        except TypeError as err:
            raise TypeError(f"{function.__name__}: parameter {parameter.name}: {err}") from None
        fields[parameter.name] = hint
        if parameter.default is parameter.empty:
            required.append(parameter.name)
    return fields, required, context


def input_schema(function: Callable[..., Any], fields: Mapping[str, Any], required: list[str]) -> dict[str, Any]:
    """Return the input schema of a tool, with the defaults that JSON has."""
    properties: dict[str, Any] = {}
    for name, hint in fields.items():
        properties[name] = schema_of(hint)
        default = inspect.signature(function).parameters[name].default
        if default is None or isinstance(default, (str, int, float, bool)):
            properties[name]["default"] = default
    return _object(properties, required)
