"""The base of all records: frozen dataclasses whose fields are checked when made, and their canonical bytes.

A record's payload is the canonical map of its fields by name (`docs/spec/canonical.md`). Invariants: a record that exists
is valid; `parse(encode(r)) == r`; no field may be missing, unknown or of another type.
"""

import hashlib
import types
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Self, get_args, get_origin, get_type_hints

from protocol.codec import Value, decode, encode
from protocol.ed25519 import SecretKey
from protocol.envelope import Envelope, payload_type, seal
from protocol.errors import ParseError, TooLarge
from protocol.types import Choice, Length, Range, Text

type_constraints = (Range, Length, Text, Choice)

Fault = Callable[[Any], str | None]
"""Why a value does not fit a field, or None."""


@dataclass(frozen=True, slots=True)
class _Field:
    """What a record asks of one field: its annotation, and what is read off it once, for records are made all the time."""

    hint: Any
    fault: Fault
    is_plain: bool


_schemas: dict[type["Record"], dict[str, _Field]] = {}


class Record:
    """A frozen, slotted dataclass with a wire name. Subclasses add fields, `NAME`, and `check` for what spans fields."""

    __slots__ = ()
    NAME: ClassVar[str] = ""
    MAX_BYTES: ClassVar[int] = 65536

    def __post_init__(self) -> None:
        for name, field in _schema(type(self)).items():
            fault = field.fault(getattr(self, name))
            if fault is not None:
                raise ParseError(f"{_title(type(self))}: {name} {fault}.")
        self.check()

    def check(self) -> None:
        """Raises ParseError where fields contradict each other; the base has none to compare."""

    def fail(self, why: str) -> ParseError:
        """The error to raise from `check`: names the record and says why."""
        return ParseError(f"{_title(type(self))}: {why}.")

    def to_value(self) -> Value:
        """The map of fields that is encoded."""
        return {name: _lower(getattr(self, name)) for name in _schema(type(self))}

    @classmethod
    def from_value(cls, value: Value) -> Self:
        """The record of a decoded map; raises ParseError on a missing, unknown or unfit field."""
        if not isinstance(value, dict):
            raise ParseError(f"{_title(cls)}: must be a map.")
        schema = _schema(cls)
        if value.keys() != schema.keys():
            odd = sorted(map(str, value.keys() ^ schema.keys()))
            raise ParseError(f"{_title(cls)}: missing or unknown field {odd[0][:40]}.")
        return cls(
            **{
                name: value[name] if field.is_plain else _lift(field.hint, value[name], f"{_title(cls)}: {name}")
                for name, field in schema.items()
            }
        )

    def encode(self) -> bytes:
        """Canonical payload bytes; raises TooLarge over `MAX_BYTES`, which `parse` would refuse."""
        payload = encode(self.to_value())
        if len(payload) > self.MAX_BYTES:
            raise TooLarge(f"{_title(type(self))}: has {len(payload)} bytes; the limit is {self.MAX_BYTES}.")
        return payload

    @classmethod
    def parse(cls, payload: bytes) -> Self:
        """The record of canonical payload bytes; raises ParseError, NotCanonical or TooLarge."""
        return cls.from_value(decode(payload, cls.MAX_BYTES))

    def digest(self) -> bytes:
        """SHA-256 of the payload: the record's identity."""
        return hashlib.sha256(self.encode()).digest()

    @classmethod
    def payload_type(cls) -> str:
        """The media type that the envelope's signature covers."""
        return payload_type(cls.NAME)

    def seal(self, *keys: SecretKey) -> Envelope:
        """The envelope of this record, signed by each key."""
        return seal(self.payload_type(), self.encode(), *keys)

    @classmethod
    def open(cls, envelope: Envelope, signer: bytes | None = None, *, is_verified: bool = False) -> Self:
        """The record of a verified envelope; `signer` must be its only signer when given.

        `is_verified`: that its signatures hold is known. Raises ParseError for another type, BadSignature, WrongSigner.
        """
        if envelope.type != cls.payload_type():
            raise ParseError(f"expected {_title(cls)}, got {envelope.type[:80]}.")
        if signer is None:
            if not is_verified:
                envelope.verify()
        else:
            envelope.verify_signer(signer)
        return cls.parse(envelope.payload)


def _schema(cls: type["Record"]) -> dict[str, _Field]:
    known = _schemas.get(cls)
    if known is None:
        hints = get_type_hints(cls, include_extras=True)
        named = ((field.name, hints[field.name]) for field in fields(cls))  # type: ignore[arg-type]
        known = _schemas[cls] = {name: _Field(hint, _fault(hint), _is_plain(hint)) for name, hint in named}
    return known


def _title(cls: type[Record]) -> str:
    name = getattr(cls, "NAME", "") or cls.__name__
    return str(name).replace("-", " ")


def _fault(hint: Any) -> Fault:
    """What finds the fault of a value for a field of this annotation."""
    origin = get_origin(hint)
    if origin is Annotated:
        (constraint,) = (each for each in get_args(hint)[1:] if isinstance(each, type_constraints))
        return constraint.fault
    if origin is tuple:
        return _fault_of_items(_fault(get_args(hint)[0]))
    if isinstance(hint, type) and not isinstance(hint, types.GenericAlias):
        return lambda value: None if type(value) is hint else f"must be of type {hint.__name__}"
    raise TypeError(f"a record cannot have a field of type {hint!r}")


def _fault_of_items(fault: Fault) -> Fault:
    def find(value: object) -> str | None:
        if not isinstance(value, tuple):
            return "must be a tuple"
        for index, item in enumerate(value):
            found = fault(item)
            if found is not None:
                return f"[{index}] {found}"
        return None

    return find


def _is_plain(hint: Any) -> bool:
    """Whether a field's value is decoded as it is."""
    return get_origin(hint) is not tuple and not (isinstance(hint, type) and issubclass(hint, Record))


def _lower(value: Any) -> Value:
    if isinstance(value, Record):
        return value.to_value()
    if isinstance(value, tuple):
        return [_lower(item) for item in value]
    return value  # type: ignore[no-any-return]


def _lift(hint: Any, value: Value, where: str) -> Any:
    if get_origin(hint) is tuple:
        if not isinstance(value, list):
            raise ParseError(f"{where} must be a list.")
        item = get_args(hint)[0]
        return tuple(_lift(item, element, f"{where}[{index}]") for index, element in enumerate(value))
    if isinstance(hint, type) and issubclass(hint, Record):
        return hint.from_value(value)
    return value
