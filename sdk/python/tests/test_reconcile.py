"""What a custom resource becomes: what a function receives, and what may come back."""

import json
import unittest
from datetime import timedelta
from typing import Any

import boathook
from boathook import (
    Child,
    Condition,
    DefinitionError,
    Desired,
    Finalized,
    ObjectRef,
    Parent,
    Permanent,
    ReconcileEvent,
    hook,
)
from boathook.config import Config
from boathook.testing import parent

SITE: dict[str, Any] = {
    "apiVersion": "example.com/v1",
    "kind": "Site",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"size": 2},
}
CONFIG: Config = {
    "reconcile": [
        {
            "apiVersion": "example.com/v1",
            "kind": "Site",
            "owns": [{"apiVersion": "v1", "kind": "ConfigMap"}],
            "prune": {"maxShare": "10%"},
        }
    ]
}


def child(name: str, namespace: str | None = "shop", **parts: Any) -> dict[str, Any]:
    metadata = {"name": name} if namespace is None else {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **parts}


class Parents(unittest.TestCase):
    def test_a_parent_says_what_it_is(self) -> None:
        site = parent(SITE, child("page"))
        self.assertEqual((site.name, site.namespace, site.spec), ("web", "shop", {"size": 2}))
        self.assertEqual(site.children[0].target, ObjectRef("v1", "ConfigMap", "page", "shop"))
        with self.assertRaisesRegex(Permanent, "there is no spec of Site shop/web"):
            parent({**SITE, "spec": None}).spec  # noqa: B018

    def test_children_are_found_by_kind_name_and_namespace(self) -> None:
        site = parent(SITE, child("page", "other"), child("page", status={"ready": 3}))
        found = site.child("ConfigMap", "page")
        assert found is not None
        self.assertEqual(found.object["status"], {"ready": 3})
        other = site.child("ConfigMap", "page", "other")
        assert other is not None
        self.assertEqual(other.target.namespace, "other")
        self.assertIsNone(site.child("Secret", "page"))
        self.assertEqual(site.child_status("ConfigMap", "page", "ready", 0), 3)
        self.assertEqual(site.child_status("ConfigMap", "page", "other", 1), 1)
        self.assertEqual(site.child_status("ConfigMap", "gone", "ready", 0), 0)

    def test_a_parent_of_the_cluster_has_children_of_the_cluster(self) -> None:
        metadata = {"name": "web"}
        site = parent({**SITE, "metadata": metadata}, child("page", "shop"), child("page", None))
        found = site.child("ConfigMap", "page")
        assert found is not None
        self.assertIsNone(found.target.namespace)

    def test_related_objects_have_the_names_of_their_entries(self) -> None:
        site = parent(SITE, related={"plan": [child("gold")], "keys": [child("a"), child("b")]})
        found = [(one.name, one.object["metadata"]["name"]) for one in site.related]
        self.assertEqual(found, [("plan", "gold"), ("keys", "a"), ("keys", "b")])

    def test_a_child_is_parsed_when_it_is_used(self) -> None:
        broken = Child(ObjectRef("v1", "ConfigMap", "a"), "{")
        with self.assertRaises(json.JSONDecodeError):
            broken.object  # noqa: B018


class Answers(unittest.TestCase):
    def setUp(self) -> None:
        hook.reset()
        boathook.configure(CONFIG)

    def reconciled(self, answer: Any) -> Any:
        hook.reset()
        boathook.configure(CONFIG)
        boathook.on_reconcile("reconcile")(lambda site: answer)
        return hook.reconcile(parent(SITE))

    def test_what_is_wanted_is_written_as_the_host_takes_it(self) -> None:
        conditions = [
            Condition("Ready", True, "Replicas", "a"),
            Condition("Paid", "False", "Bill", ""),
            Condition("Known", "Unknown", "NoAnswer", "b"),
        ]
        answer = Desired([child("page")], status={"pages": 1}, conditions=conditions, requeue_after=1.0001)
        found = self.reconciled(answer)
        self.assertEqual(([json.loads(one) for one in found.children], found.none_wanted), ([child("page")], False))
        self.assertEqual(json.loads(found.status), {"pages": 1})
        self.assertEqual([(kind, holds) for kind, holds, _, _ in found.conditions], [("Ready", True), ("Paid", False), ("Known", None)])
        self.assertEqual(found.requeue_after, 1001)
        none = self.reconciled(Desired(none_wanted=True, requeue_after=timedelta(minutes=1)))
        self.assertEqual((none.children, none.none_wanted, none.status, none.requeue_after), ([], True, None, 60_000))
        self.assertEqual(self.reconciled(Desired(requeue_after=1e308)).requeue_after, 2**64 - 1)

    def test_an_invalid_answer_names_the_field(self) -> None:
        endless: dict[str, Any] = {}
        endless["self"] = endless
        condition = {"type": "Ready", "status": True, "reason": "Ok", "message": ""}
        wrong: list[tuple[Any, str]] = [
            (None, r'@on_reconcile\("reconcile"\) returned an invalid answer: it must be a Desired, and is NoneType'),
            ({"children": []}, "it must be a Desired, and is dict"),
            (Desired({}), "children must be a list, and is dict"),  # type: ignore[arg-type]
            (Desired("page"), "children must be a list, and is str"),  # type: ignore[arg-type]
            (Desired([child("page"), None]), r"children\[1\] must be a dictionary, and is NoneType"),  # type: ignore[list-item]
            (Desired([{"data": {1, 2}}]), r"children\[0\] cannot be written as JSON: .*set"),
            (Desired([endless]), r"children\[0\] cannot be written as JSON: "),
            (Desired([{"size": float("nan")}]), r"children\[0\] cannot be written as JSON: "),
            (Desired(none_wanted=1), "none_wanted must be True or False, and is int"),  # type: ignore[arg-type]
            (Desired(status=[]), "status must be a dictionary, and is list"),  # type: ignore[arg-type]
            (Desired(conditions=[condition]), r"conditions\[0\] must be a Condition, and is dict"),  # type: ignore[list-item]
            (Desired(conditions=[Condition("Ready", "yes", "Ok", "")]), r"conditions\[0\].status must be .*'yes'"),  # type: ignore[arg-type]
            (Desired(conditions=[Condition("Ready", 1, "Ok", "")]), r"conditions\[0\].status must be .* 1"),  # type: ignore[arg-type]
            (Desired(conditions=[Condition("Ready", True, None, "")]), r"conditions\[0\].reason must be a text"),  # type: ignore[arg-type]
            (Desired(events=["Seen"]), r"events\[0\] must be a ReconcileEvent, and is str"),  # type: ignore[list-item]
            (Desired(events=[ReconcileEvent("Seen", None)]), r"events\[0\].message must be a text"),  # type: ignore[arg-type]
            (Desired(events=[ReconcileEvent("Seen", "", "bad")]), r"events\[0\].type must be .*'bad'"),  # type: ignore[arg-type]
            (Desired(requeue_after="1s"), "requeue_after must be a number of seconds or a timedelta, and is str"),  # type: ignore[arg-type]
            (Desired(requeue_after=True), "requeue_after must be a number of seconds or a timedelta, and is bool"),
            (Desired(requeue_after=-1), "requeue_after must not be negative, and is -1"),
            (Desired(requeue_after=float("inf")), "requeue_after must be finite"),
        ]
        for answer, told in wrong:
            with self.subTest(told), self.assertRaisesRegex(Permanent, told):
                self.reconciled(answer)

    def test_events_are_written_as_the_host_takes_them(self) -> None:
        found = self.reconciled(Desired(events=[ReconcileEvent("Seen", "a"), ReconcileEvent("Late", "b", "Warning")]))
        self.assertEqual(found.events, [(False, "Seen", "a"), (True, "Late", "b")])

    def test_a_function_says_how_far_the_end_is(self) -> None:
        answers: list[Any] = [Finalized(False, [child("page")], requeue_after=2), Finalized(done=True), None, Finalized(1)]  # type: ignore[arg-type]
        boathook.on_finalize("reconcile")(lambda site: answers.pop(0))
        left, done = hook.finalize(parent(SITE)), hook.finalize(parent(SITE))
        self.assertEqual((left.done, len(left.children), left.requeue_after), (False, 1, 2000))
        self.assertEqual((done.done, done.children), (True, []))
        for told in ["it must be a Finalized, and is NoneType", "done must be True or False, and is int"]:
            with self.assertRaisesRegex(Permanent, rf'@on_finalize\("reconcile"\) returned an invalid answer: {told}'):
                hook.finalize(parent(SITE))

    def test_the_end_needs_no_function_and_its_function_needs_a_binding(self) -> None:
        boathook.on_reconcile("reconcile")(lambda site: Desired())
        self.assertFalse(hook.answers("finalize"))
        boathook.on_finalize("reconcile")(lambda site: Finalized(done=True))
        self.assertTrue(hook.answers("finalize"))
        hook.document()
        boathook.on_finalize("other")(lambda site: Finalized(done=True))
        with self.assertRaisesRegex(DefinitionError, r'@on_finalize\("other"\): the configuration has no such binding'):
            hook.document()

    def test_a_run_has_its_circumstances(self) -> None:
        seen: list[str] = []

        @boathook.on_reconcile("reconcile")
        def sites(site: Parent) -> Desired:
            seen.append(boathook.info().run_id)
            return Desired()

        hook.reconcile(parent(SITE))
        self.assertEqual(seen, ["test"])

    def test_what_is_raised_is_not_changed(self) -> None:
        @boathook.on_reconcile("reconcile")
        def sites(site: Parent) -> Desired:
            raise Permanent("no")

        with self.assertRaisesRegex(Permanent, "^no$"):
            hook.reconcile(parent(SITE))

    def test_a_function_and_its_binding_need_each_other(self) -> None:
        boathook.on_run(lambda ctx: None)
        with self.assertRaisesRegex(DefinitionError, r'no function is @on_reconcile\("reconcile"\), which the config'):
            hook.document()
        boathook.on_reconcile("reconcile")(lambda site: Desired())
        self.assertEqual(json.loads(hook.document())["reconcile"], CONFIG["reconcile"])
        self.assertTrue(hook.answers("reconcile"))
        boathook.on_reconcile("sites")(lambda site: Desired())
        with self.assertRaisesRegex(DefinitionError, r'@on_reconcile\("sites"\): the configuration has no such binding'):
            hook.document()


if __name__ == "__main__":
    unittest.main()
