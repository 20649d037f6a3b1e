"""What docs/testing.md shows of values."""

import unittest

from boathook import values
from boathook.testing import FakeHost


def choose_replicas() -> None:
    available = values.get()["global"].get("highAvailability", False)
    values.set("/web/replicas", 3 if available else 1)


class Replicas(unittest.TestCase):
    def test_there_are_three_for_high_availability(self) -> None:
        host = FakeHost(values={"global": {"highAvailability": True}, "web": {}})
        with host.here():
            choose_replicas()
        self.assertEqual(host.patches, [{"op": "add", "path": "/web/replicas", "value": 3}])


if __name__ == "__main__":
    unittest.main()
