"""The Python interpreter that script hooks share: the hook's exports, answered by the functions of a script that the
host hands over.

Knows nothing of Kubernetes. Each call comes to a fresh instance: nothing is kept from one to the next.
"""

from . import gaps, library  # First: what is imported by now is there at once in every run.

gaps.fill()  # What is used most comes next, and so together.

import gc
import sys

from wit_world import WitWorld as World
from wit_world import exports
from wit_world.exports.finalizing import Finalized
from wit_world.exports.functions import Function
from wit_world.exports.mutating import Mutation
from wit_world.exports.reconciling import Desired
from wit_world.exports.script import Description
from wit_world.imports.admission import Verdict
from wit_world.imports.reconciliation import Parent
from wit_world.imports.types import BindingContext, RunInfo

from . import answers, contexts, failure, lasting, native, program, streams, warm
from boathook import crd, hook

sys.path = []
sys.path_importer_cache.clear()
sys.meta_path = [*library.FIXED_FINDERS, program.Finder(), library.Finder()]
streams.connect()
native.connect()


class _Last:
    """componentize-py makes these objects, after which there is nothing to come."""

    def __init__(self) -> None:
        gaps.fill()


class WitWorld(_Last, World):
    def config(self) -> str:
        # The host asks `describe` instead, which can say what is wrong.
        program.load()
        return hook.document()

    def run(self, info: RunInfo, contexts_: list[BindingContext]) -> None:
        with failure.told():
            program.load()
            hook.run(contexts.context_(info, contexts_))


class Script(_Last, exports.Script):
    def describe(self) -> Description:
        with failure.told_as_text():
            compiled = program.compile_all()
            program.load()
            # `Definitions` cannot report an error.
            crd.documents()
            return Description(hook.document(), answers.handlers(), compiled)


class Functions(_Last, exports.Functions):
    def all(self) -> list[Function]:
        return answers.functions()


class Definitions(_Last, exports.Definitions):
    def all(self) -> list[str]:
        return crd.documents()


class Validating(_Last, exports.Validating):
    def validate(self, info: RunInfo, binding: str, request: str) -> Verdict:
        with failure.told():
            program.load()
            return answers.verdict(hook.validate(contexts.review(info, binding, request)))


class Mutating(_Last, exports.Mutating):
    def mutate(self, info: RunInfo, binding: str, request: str) -> tuple[Verdict, Mutation]:
        with failure.told():
            program.load()
            mutation = hook.mutate(contexts.review(info, binding, request))
            return answers.verdict(mutation.verdict), answers.mutation(mutation)


class Conversion(_Last, exports.Conversion):
    def convert(self, binding: str, from_version: str, to_version: str, objects: list[str]) -> list[str]:
        with failure.told_as_text():
            program.load()
            return answers.objects(hook.convert(contexts.conversion(binding, from_version, to_version, objects)))


class Reconciling(_Last, exports.Reconciling):
    def reconcile(self, info: RunInfo, binding: str, parent: Parent) -> Desired:
        with failure.told():
            program.load()
            return answers.desired(hook.reconcile(contexts.parent(info, binding, parent)))


class Finalizing(_Last, exports.Finalizing):
    def finalize(self, info: RunInfo, binding: str, parent: Parent) -> Finalized:
        with failure.told():
            program.load()
            return answers.finalized(hook.finalize(contexts.parent(info, binding, parent)))


# Garbage goes with the instance: what is here by now is never looked at, and what a run makes rarely.
warm.up()
lasting.mark()
gc.freeze()
gc.set_threshold(100_000, 50, 1000)
