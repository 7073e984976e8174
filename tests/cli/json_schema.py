"""Validates JSON by the part of JSON Schema (draft 2020-12) that docs/schemas uses, and refuses schemas that use another part."""
import math
import re

TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "integer": lambda v: not isinstance(v, bool) and (isinstance(v, int) or (isinstance(v, float) and v.is_integer())),
    "number": lambda v: not isinstance(v, bool) and isinstance(v, (int, float)) and math.isfinite(v),
}
KEYWORDS = {"$schema", "$id", "$defs", "$ref", "title", "description", "type", "properties", "required", "additionalProperties",
            "items", "minItems", "maxItems", "enum", "const", "pattern", "minimum", "maximum", "anyOf"}


def faults_of_schema(schema, at="#", root=None):
    """Lists what makes the schema one that this validator does not know, or that leaves objects open without saying so."""
    if schema is True:
        return []
    if not isinstance(schema, dict):
        return [f"{at}: is no schema"]
    root = root or schema
    faults = [f"{at}: the keyword {k} is not known" for k in schema if k not in KEYWORDS]
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        if name not in root.get("$defs", {}):
            faults.append(f"{at}: {schema['$ref']} does not exist")
    types = schema.get("type", [])
    for t in [types] if isinstance(types, str) else types:
        if t not in TYPES:
            faults.append(f"{at}: the type {t} is not known")
    if "properties" in schema or types == "object":
        if "additionalProperties" not in schema:
            faults.append(f"{at}: an object without additionalProperties")
        for name in schema.get("required", []):
            if name not in schema.get("properties", {}):
                faults.append(f"{at}: requires {name}, which it does not describe")
    for key in ("properties", "$defs"):
        for name, part in schema.get(key, {}).items():
            faults += faults_of_schema(part, f"{at}/{key}/{name}", root)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            faults += faults_of_schema(schema[key], f"{at}/{key}", root)
    for i, part in enumerate(schema.get("anyOf", [])):
        faults += faults_of_schema(part, f"{at}/anyOf/{i}", root)
    return faults


def errors(value, schema, at="$", root=None):
    """Lists how the value differs from what the schema says."""
    if schema is True:
        return []
    root = root or schema
    if "$ref" in schema:
        return errors(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], at, root)
    if "anyOf" in schema:
        tried = [errors(value, part, at, root) for part in schema["anyOf"]]
        return [] if any(not e for e in tried) else min(tried, key=len)
    found = []
    if "type" in schema:
        types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        if not any(TYPES[t](value) for t in types):
            return [f"{at}: {str(value)[:60]!r} is no {' or '.join(types)}"]
    if "const" in schema and value != schema["const"]:
        found.append(f"{at}: {value!r} is not {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{at}: {value!r} is none of {schema['enum']}")
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        found.append(f"{at}: {value!r} does not match {schema['pattern']}")
    if TYPES["number"](value):
        if value < schema.get("minimum", -math.inf) or value > schema.get("maximum", math.inf):
            found.append(f"{at}: {value} is out of range")
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", math.inf):
            found.append(f"{at}: has {len(value)} elements")
        if isinstance(schema.get("items"), dict):
            for i, element in enumerate(value):
                found += errors(element, schema["items"], f"{at}[{i}]", root)
    if isinstance(value, dict):
        described = schema.get("properties", {})
        found += [f"{at}: lacks {name}" for name in schema.get("required", []) if name not in value]
        for name, element in value.items():
            if name in described:
                found += errors(element, described[name], f"{at}.{name}", root)
            elif schema.get("additionalProperties", True) is False:
                found.append(f"{at}: {name} is not in the schema")
            elif isinstance(schema.get("additionalProperties"), dict):
                found += errors(element, schema["additionalProperties"], f"{at}.{name}", root)
    return found


def broken_copies(value, schema, root=None):
    """Yields (what, copy) for every way to break the value at its first levels: a required key gone, a key nobody knows."""
    root = root or schema
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    if isinstance(value, dict):
        for name in schema.get("required", []):
            yield f"without {name}", {k: v for k, v in value.items() if k != name}
        if schema.get("additionalProperties", True) is False:
            yield "with a key nobody knows", {**value, "nobody_knows": 1}
        for name, element in value.items():
            part = schema.get("properties", {}).get(name)
            if isinstance(part, dict):
                for what, copy in broken_copies(element, part, root):
                    yield f"{name} {what}", {**value, name: copy}
    if isinstance(value, list) and value and isinstance(schema.get("items"), dict):
        for what, copy in broken_copies(value[0], schema["items"], root):
            yield f"[0] {what}", [copy, *value[1:]]
