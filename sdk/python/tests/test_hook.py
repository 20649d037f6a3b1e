"""Functions and bindings, and what a run brings them. In plain Python, without a package beside its own library."""

import json
import unittest
from datetime import UTC, datetime
from typing import Any

import boathook
from boathook import (
    BindingContext,
    Context,
    DefinitionError,
    Event,
    KubeError,
    ObjectRef,
    Permanent,
    Retry,
    Review,
    RunInfo,
    Startup,
    Synchronization,
    Tick,
    hook,
    kube,
    log,
    snapshots,
)
from boathook.testing import FakeHost

INFO = RunInfo("1", "h")


def event(name: str, **parts: Any) -> BindingContext:
    target = ObjectRef("v1", "Namespace", name)
    return BindingContext("a", Event("a", "Added", target, "u", "1", **parts))


class Hooks(unittest.TestCase):
    def setUp(self) -> None:
        hook.reset()
        self.seen: list[object] = []

    def test_each_trigger_has_its_function(self) -> None:
        boathook.configure({"kubernetes": [{"name": "a", "kind": "X"}], "onStartup": 1, "schedule": [{"crontab": "* * * * *"}]})
        boathook.on_event("a")(lambda event: self.seen.append(event.target.name))
        boathook.on_synchronization("a")(lambda items: self.seen.append([item.name for item in items]))
        boathook.on_startup(lambda: self.seen.append(boathook.info().run_id))
        boathook.on_schedule("schedule")(lambda tick: self.seen.append(tick.missed))
        self.assertEqual(json.loads(hook.document())["configVersion"], "v1")
        tick = Tick(datetime(2026, 1, 1, tzinfo=UTC), 2)
        triggers = [BindingContext("onStartup", Startup()), BindingContext("a", Synchronization()), event("web"), BindingContext("schedule", tick)]
        with FakeHost(snapshots={"a": [{"name": "z"}, {"name": "y"}]}).here():
            hook.run(Context(INFO, triggers))
        self.assertEqual(self.seen, ["1", ["y", "z"], "web", 2])

    def test_what_does_not_fit_together_is_told(self) -> None:
        boathook.configure({"kubernetes": [{"name": "a", "kind": "X", "executeHookOnSynchronization": False}]})
        boathook.on_event("b")(lambda event: None)
        with self.assertRaisesRegex(DefinitionError, r'on_event\("b"\): the .*; no function is @on_event\("a"\), which'):
            hook.document()
        with self.assertRaisesRegex(DefinitionError, "not both"):
            boathook.on_run(lambda ctx: None)
        with self.assertRaisesRegex(DefinitionError, "two functions"):
            boathook.on_event("b")(lambda event: None)

    def test_one_function_takes_them_all(self) -> None:
        boathook.configure("configVersion: v1")
        boathook.on_run(lambda ctx: self.seen.append([event.filter_result for event in ctx.events("a")]))
        hook.run(Context(INFO, [event("x", filter_result="1"), event("y", filter_result="null")]))
        self.assertEqual(self.seen, [[1, None]])

    def test_a_part_that_is_not_there_is_told(self) -> None:
        found = event("x").trigger
        assert isinstance(found, Event)
        with self.assertRaisesRegex(Permanent, "Namespace x: its binding has no jqFilter"):
            found.filter_result  # noqa: B018

    def test_requests_are_answered(self) -> None:
        boathook.configure("configVersion: v1")
        boathook.on_validating("v")(lambda review: boathook.deny("no") if review.operation == "DELETE" else None)
        review = Review("v", INFO, {"operation": "DELETE"})
        self.assertEqual(hook.validate(review).denied, boathook.Denial("no"))
        self.assertIsNone(hook.validate(Review("v", INFO, {})).denied)
        self.assertTrue(hook.answers("validating") and not hook.answers("mutating"))


class Calls(unittest.TestCase):
    def test_objects_are_written_and_found(self) -> None:
        ref = ObjectRef("v1", "ConfigMap", "a", "n")
        with FakeHost().here() as host:
            made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}, "data": {"x": "1"}}
            self.assertEqual(kube.create(made), made)
            self.assertIsNone(kube.create(made, if_exists="keep"))
            kube.merge(ref, {"data": {"x": None, "y": "2"}})
            self.assertEqual(kube.get(ref)["data"], {"y": "2"})
            self.assertEqual(len([*kube.list(kube.Query(api_version="v1", kind="ConfigMap"))]), 1)
            first, second = kube.batch([kube.Delete(ref), kube.Delete(ref)])
            self.assertIsNone(first.error)
            assert second.error is not None
            self.assertEqual(second.error.reason, "not-found")
            self.assertIsNone(kube.find(ref))
            self.assertEqual(len(host.written), 5)

    def test_a_snapshot_is_read_again_from_the_beginning(self) -> None:
        with FakeHost(snapshots={"a": [{"name": "x", "filter_result": {"b": 1}}]}).here():
            opened = snapshots.open("a")
            names = [[item.name for item in opened] for _ in range(2)]
            self.assertEqual(names, [["x"], ["x"]])
            found = opened.get(None, "x")
            assert found is not None
            self.assertEqual(found.filter_result, {"b": 1})

    def test_logging_keeps_fields_and_names(self) -> None:
        import logging

        logger = logging.getLogger("mine")
        logger.addHandler(log.Handler())
        with FakeHost().here() as host:
            logger.error("a %s", 1, extra={"b": 2})
            log.warn("c", d=3)
        self.assertEqual(host.logged, [("error", "a 1", {"b": "2", "logger": "mine"}), ("warn", "c", {"d": "3"})])

    def test_errors_keep_what_happens_next(self) -> None:
        invalid = KubeError("invalid", "x", 422)
        self.assertIsInstance(boathook.with_context("a", invalid), Permanent)
        later = boathook.with_context("a", Retry("x", after=2))
        assert isinstance(later, Retry) and later.after is not None
        self.assertEqual((str(later), later.after.total_seconds()), ("a: x", 2))


if __name__ == "__main__":
    unittest.main()
