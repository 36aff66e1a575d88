"""What tests of the adapters share."""

import importlib
import os
from types import ModuleType

import pytest

TURNS = 100
FACT = "The staging gateway listens on port 8443, and its certificate is called heron-17."
FACT_TURN = 3
QUESTION = "Which port has the staging gateway, and what is its certificate called?"


def library(name: str) -> ModuleType:
    """A host's library; without it, the tests are skipped, unless NEAP_TEST_STRICT is set."""
    if "NEAP_TEST_STRICT" in os.environ:
        return importlib.import_module(name)
    return pytest.importorskip(name)


def question(turn: int) -> str:
    """What the user says in a turn: each is as long as a real one, and about something else."""
    if turn == FACT_TURN:
        return f"Please note: {FACT}"
    if turn == TURNS:
        return QUESTION
    subject = ("the parser", "the invoices", "our garden", "the release notes", "a train to Bern")[turn % 5]
    return f"Number {turn}: tell me something about {subject}. " + f"Detail {turn} matters a little. " * 12


def answer(turn: int) -> str:
    return f"Answer {turn}: that is so. " + f"It follows from point {turn}. " * 12
