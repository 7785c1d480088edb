"""Arrays as numpy's files, without numpy: `encode_npy` one array, `encode_npz` an archive of them.

Format: NPY version 1.0, in C order. Archives have no times, so equal arrays give equal bytes.
"""

import io
import struct
import zipfile
from collections.abc import Iterable
from typing import Final

_MAGIC: Final = b"\x93NUMPY\x01\x00"
_ALIGN: Final = 64


def encode_npy(descr: str, shape: tuple[int, ...], data: bytes) -> bytes:
    """An array whose elements, of numpy's type `descr` (such as `<f4`), are `data`."""
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape!r}, }}"
    width = -(-(len(_MAGIC) + 2 + len(text) + 1) // _ALIGN) * _ALIGN - len(_MAGIC) - 2
    return _MAGIC + struct.pack("<H", width) + text.ljust(width - 1).encode("ascii") + b"\n" + data


def encode_npz(arrays: Iterable[tuple[str, bytes]], *, is_compressed: bool = False) -> bytes:
    """An archive that `numpy.load` opens, of names and what `encode_npy` gave for each."""
    out = io.BytesIO()
    method = zipfile.ZIP_DEFLATED if is_compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in arrays:
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), data, method)
    return out.getvalue()
