"""Values of a module: what a hook sees, and what becomes of its changes. In plain Python."""

import unittest
from collections.abc import Callable

from boathook import is_permanent, values
from boathook.testing import FakeHost


class Values(unittest.TestCase):
    def test_values_are_seen_and_changes_are_noted(self) -> None:
        host = FakeHost(values={"global": {}, "web": {"port": 80}}, config_values={"web": {"port": 81}})
        with host.here():
            self.assertEqual(values.get()["web"], {"port": 80})
            self.assertEqual(values.config()["web"], {"port": 81})
            values.set("/web/replicas", 3)
            values.remove("/web/old")
            values.set_config("/web/seen", True)
            values.remove_config("/web/gone")
        self.assertEqual(
            host.patches,
            [{"op": "add", "path": "/web/replicas", "value": 3}, {"op": "remove", "path": "/web/old"}],
        )
        self.assertEqual(
            host.config_patches,
            [{"op": "add", "path": "/web/seen", "value": True}, {"op": "remove", "path": "/web/gone"}],
        )

    def test_a_hook_outside_of_modules_has_no_values(self) -> None:
        calls: list[Callable[[], object]] = [values.get, values.config, lambda: values.set("/web/a", 1), lambda: values.remove_config("/web/a")]
        with FakeHost().here():
            for call in calls:
                with self.assertRaisesRegex(Exception, "belongs to no module") as caught:
                    call()
                self.assertTrue(is_permanent(caught.exception))


if __name__ == "__main__":
    unittest.main()
