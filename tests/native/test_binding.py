"""The stub of the binding names exactly what the extension has."""

from __future__ import annotations

import ast
from pathlib import Path

import native
from native._engine import lib

STUB = Path(native.__file__).parent / "_engine.pyi"


def test_the_stub_names_every_function_and_constant() -> None:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    typed = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "_Lib")
    named = {node.name for node in typed.body if isinstance(node, ast.FunctionDef)}
    named |= {
        node.target.id for node in typed.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    assert named == set(dir(lib))
