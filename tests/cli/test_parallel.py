"""Work for several items at a time."""

from __future__ import annotations

import threading

import pytest

from ddtree_ops.cli.parallel import in_parallel


def test_results_stand_in_the_items_order_and_work_overlaps() -> None:
    together = threading.Barrier(3)

    def work(number: int) -> int:
        together.wait(10)
        return number * number

    assert in_parallel(work, [3, 1, 2], 3) == [9, 1, 4]


def test_no_more_at_once_than_allowed() -> None:
    running, most = threading.Semaphore(2), []

    def work(_number: int) -> None:
        most.append(running.acquire(blocking=False))
        running.release()

    in_parallel(work, range(20), 2)
    assert all(most)


def test_an_exception_is_raised_after_the_others_have_ended() -> None:
    done: list[int] = []

    def work(number: int) -> None:
        if number == 0:
            raise ZeroDivisionError
        done.append(number)

    with pytest.raises(ZeroDivisionError):
        in_parallel(work, range(5), 2)
    assert sorted(done) == [1, 2, 3, 4]
