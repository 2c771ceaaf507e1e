from __future__ import annotations

import asyncio
import contextvars
import multiprocessing
import signal
import subprocess
import sys
import threading

import anyio.lowlevel
import pytest

from resay._internal.event_loops import EnteredInBackground
from resay.adapters import run_sync

CURRENT = contextvars.ContextVar("CURRENT", default="nobody")


async def double(value: int) -> int:
    await anyio.lowlevel.checkpoint()
    return 2 * value


async def loop_id() -> int:
    return id(asyncio.get_running_loop())


def test_it_returns_what_the_function_returns() -> None:
    assert run_sync(double, 21) == 42


def test_every_call_runs_on_the_same_loop() -> None:
    assert run_sync(loop_id) == run_sync(loop_id)


def test_it_works_inside_a_running_loop() -> None:
    async def main() -> int:
        return run_sync(double, 21)

    assert asyncio.run(main()) == 42


def test_exceptions_come_as_they_are() -> None:
    async def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        run_sync(fail)


def test_context_variables_are_seen() -> None:
    async def read() -> str:
        return CURRENT.get()

    token = CURRENT.set("caller")
    try:
        assert run_sync(read) == "caller"
    finally:
        CURRENT.reset(token)


_WAITING = """
import os, signal
import anyio
from resay._internal.event_loops import run_sync

# A shell may start what runs in its background with the interrupt ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

async def wait():
    os.write(1, b"waiting\\n")
    try:
        await anyio.sleep_forever()
    finally:
        os.write(1, b"cancelled\\n")

try:
    run_sync(wait)
except KeyboardInterrupt:
    os.write(1, b"interrupted\\n")
"""


def test_an_interrupt_cancels_what_is_waited_for() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _WAITING], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "waiting\n"
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=20)
        finally:
            process.kill()
    assert sorted(out.split()) == ["cancelled", "interrupted"]


_LEAVING = """
import asyncio
from resay._internal.event_loops import run_sync

left_behind = []

async def use_a_thread_and_leave_a_task():
    await asyncio.to_thread(str)
    left_behind.append(asyncio.ensure_future(asyncio.sleep(999)))

run_sync(use_a_thread_and_leave_a_task)
"""


def test_a_process_ends_quietly() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LEAVING], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


NO_LOOP = """
import anyio
from resay import Guard

run, anyio.run = anyio.run, None
guard = Guard({"chain": ["ngram"]})
try:
    guard.check("It opened in 1932.", samples=["It did."] * 2)
except TypeError as error:
    print(type(error).__name__)
anyio.run = run
print(guard.check("It opened in 1932.", samples=["It did."] * 2).inconclusive)
"""


def test_a_loop_that_cannot_start_is_an_error_and_the_next_call_tries_again() -> None:
    done = subprocess.run(
        [sys.executable, "-c", NO_LOOP], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout.split() == ["TypeError", "True"]


def test_many_threads_at_once() -> None:
    results: list[int] = []
    threads = [
        threading.Thread(target=lambda i=i: results.append(run_sync(double, i))) for i in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [2 * i for i in range(20)]


def _in_child(queue: multiprocessing.Queue[int]) -> None:
    queue.put(run_sync(double, 21))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_it_works_after_a_fork() -> None:
    run_sync(double, 1)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=10) == 42
    child.join()


def test_what_was_entered_and_dropped_is_exited() -> None:
    left = threading.Event()

    class Manager:
        async def __aenter__(self) -> int:
            return 1

        async def __aexit__(self, *reason: object) -> None:
            left.set()

    entered = EnteredInBackground(Manager())
    assert entered.__enter__() == 1
    entered.leave_soon()
    assert left.wait(20)
