"""Settings as JSON has them, to the dataclasses of this package. A setting that is missing, of a wrong type or unknown is named."""

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, get_args

from tadpole_torch.errors import TrainerError
from tadpole_torch.loss import LossKind, LossSettings
from tadpole_torch.optimizer import OptimizerSettings


def loss_settings(given: Mapping[str, Any]) -> LossSettings:
    return LossSettings(**_fields(LossSettings, given, "loss"))


def optimizer_settings(given: Mapping[str, Any]) -> OptimizerSettings:
    return OptimizerSettings(**_fields(OptimizerSettings, given, "optimizer"))


def _fields(kind: type, given: Mapping[str, Any], section: str) -> dict[str, Any]:
    """JSON's camelCase names to Python's."""
    if not isinstance(given, Mapping):
        raise TrainerError("internal", f"settings.{section}: expected an object")
    known = {re.sub(r"_(\w)", lambda match: match[1].upper(), field.name): field for field in fields(kind)}
    for name in given:
        if name not in known:
            raise TrainerError("internal", f"settings.{section}.{name}: no such setting, expected {', '.join(known)}")
    values: dict[str, Any] = {}
    for name, field in known.items():
        if name in given:
            values[field.name] = _checked(f"settings.{section}.{name}", given[name])
        elif field.default is MISSING:
            raise TrainerError("internal", f"settings.{section}.{name} is missing")
    return values


def _checked(name: str, value: Any) -> Any:
    if name == "settings.loss.kind":
        if value not in get_args(LossKind):
            raise TrainerError("internal", f"{name} is {value!r}, expected one of {', '.join(get_args(LossKind))}")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TrainerError("internal", f"{name} is {value!r}, expected a number")
    return float(value)
