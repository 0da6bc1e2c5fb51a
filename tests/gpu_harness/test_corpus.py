"""The choice of text: order, limits, and that held-out modules stay out."""

from __future__ import annotations

from pathlib import Path

from tests.gpu.training.corpus import read_corpus


def library(tmp_path: Path) -> Path:
    for number in range(30):
        (tmp_path / f"m{number:02}.py").write_text(f"# module {number}\n" + "x = 1\n" * 900)
    (tmp_path / "aaa_tiny.py").write_text("x = 1\n")
    return tmp_path


def test_every_twelfth_module_is_held_out(tmp_path: Path) -> None:
    corpus = read_corpus(10**9, 5000, library(tmp_path))
    assert len(corpus.seen) + len(corpus.unseen) == 30
    assert len(corpus.unseen) in (2, 3)
    assert not set(corpus.unseen) & set(corpus.training)


def test_the_limits_are_kept_to_the_document(tmp_path: Path) -> None:
    corpus = read_corpus(20_000, 5000, library(tmp_path))
    assert 20_000 <= sum(map(len, corpus.seen + corpus.unseen)) < 20_000 + 6000
    assert sum(map(len, corpus.prose[:-1])) < 5000 <= sum(map(len, corpus.prose))


def test_modules_too_small_to_teach_anything_are_left_out(tmp_path: Path) -> None:
    assert all(len(text) > 4000 for text in read_corpus(10**9, 100, library(tmp_path)).seen)
