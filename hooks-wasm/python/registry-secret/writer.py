"""Writes the copies, many at once, and judges how it went. It never decides what a namespace needs."""

from boathook import Item, KubeError, is_permanent, kube, log, with_context
from boathook.kube import Create, Delete, Operation, Patch

from plan import Action, Source
from secret import NAME, SOURCE, data_patch, is_copy, new_copy, reference

#: Writes in one call to the host.
BATCH = 250
#: Characters of copies in one call to the host, roughly; each passes through the hook's memory.
BATCH_SIZE = 4 * 1024 * 1024


class Writer:
    """Collects writes and sends them in batches."""

    def __init__(self, source: Source | None) -> None:
        """A writer of copies of this source; without one, it can only remove."""
        self._source = source
        data = (source and source["data"]) or {}
        size = sum(len(key) + len(value) for key, value in data.items()) + 1
        self._batch = min(BATCH, max(1, BATCH_SIZE // size))
        self._pending: list[tuple[str, Operation]] = []
        self._failures: list[Exception] = []

    def add(self, namespace: str, action: Action, copy: Item | None) -> None:
        """Does what a namespace needs."""
        if copy is not None and action in ("remove", "recreate"):
            self.remove(copy)
        if self._source is None:
            return
        if action in ("create", "recreate"):
            # `create`, not `apply`: it cannot take over a Secret that somebody else put there.
            self._push(namespace, Create(new_copy(namespace, self._source)))
        if action == "update" and copy is not None:
            # Replaces the data. Labels and annotations that others put on it stay.
            patch = data_patch(copy.resource_version, self._source, copy.filter_result)
            self._push(namespace, Patch(reference(namespace), "merge", patch))

    def remove(self, copy: Item) -> None:
        """Removes a copy, if it is still the one that was seen."""
        namespace = copy.namespace or ""
        if namespace != SOURCE:
            self._push(namespace, Delete(reference(namespace), ignore_missing=True, uid=copy.uid))

    def finish(self) -> None:
        """Sends what is left. Fails if a write failed, to be retried unless none of them could be."""
        if self._pending:
            self._flush()
        if self._failures:
            worst = next((failure for failure in self._failures if not is_permanent(failure)), self._failures[0])
            raise with_context(f"{len(self._failures)} writes failed, such as", worst)

    def _push(self, namespace: str, operation: Operation) -> None:
        self._pending.append((namespace, operation))
        if len(self._pending) >= self._batch:
            self._flush()

    def _flush(self) -> None:
        pending, self._pending = self._pending, []
        results = kube.batch([operation for _, operation in pending])
        for (namespace, _), result in zip(pending, results, strict=True):
            if result.error is not None and (failure := excuse(namespace, result.error)):
                self._failures.append(failure)


def excuse(namespace: str, error: KubeError) -> Exception | None:
    """What of a failed write is a failure of the run."""
    # The namespace goes or is gone: nothing is missing there.
    if error.reason == "not-found" or error.namespace_terminating:
        return None
    if error.reason != "already-exists":
        return error
    # If it is ours, the snapshot was a moment behind, and its event will bring us here again.
    try:
        found = kube.find(reference(namespace))
    except KubeError as failure:
        return failure
    if found is not None and not is_copy(found):
        log.warn(f"Secret {namespace}/{NAME} is not a copy of {SOURCE}/{NAME}: left alone")
    return None
