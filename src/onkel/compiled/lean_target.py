"""Lean linking: what is compiled is optimised once, where Python calls it.

numba makes a library of every function. Into each it links those of the functions
called, optimises the whole and makes machine code of it: what stands at the end of six
calls is optimised and assembled six times. Only what Python calls needs machine code.
Here all other libraries wait: they keep what they were lowered to, and the one that
Python calls links all of them, each once, and optimises once. That takes half of the
time, and is all the same to the code.

This is a target of its own, which inherits all that numba can do for a processor, so
that nobody else's functions are touched. Where a future numba does not have what it is
built on, the import fails, and `compiled` does without.
"""

import itertools
from functools import partial
from typing import Any

from llvmlite.binding import Linkage
from numba.core import cpu, registry
from numba.core.callconv import CPUCallConv
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.decorators import jit
from numba.core.dispatcher import Dispatcher
from numba.core.environment import lookup_environment
from numba.core.target_extension import (
    CPU,
    dispatcher_registry,
    jit_registry,
    target_override,
    target_registry,
)
from numba.core.utils import threadsafe_cached_property

from onkel.compiled.levels import FEATURES, level
from onkel.compiled.references import Reference
from onkel.compiled.symbols import NEVER_INLINED

NAME = "onkel"
# How numba's names begin: of the function that Python calls, of any function, and of
# the variable that points to a function's constants.
WRAPPER, MANGLED, ENVIRONMENT = "_ZN7cpython", "_ZN", "_ZN08NumbaEnv"


def _defined(module: Any) -> set[str]:
    """Names that other modules can see."""
    hidden = Linkage.internal, Linkage.private
    return {
        value.name
        for values in (module.functions, module.global_variables)
        for value in values
        if not value.is_declaration and value.linkage not in hidden
    }


class LeanLibrary(JITCodeLibrary):
    """The code of a function; it waits unless Python calls the function."""

    waits = False

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _get_module_for_linking(self) -> Any:
        # External functions are linked whether or not anyone refers to them yet.
        return self._final_module if self.waits else super()._get_module_for_linking()

    def finalize(self) -> None:
        """Wait; or link all that have waited, optimise, and make machine code."""
        names = {f.name for f in self._final_module.functions if not f.is_declaration}
        if not any(name.startswith(WRAPPER) for name in names):
            self._wait()
            return
        self._linking_libraries = _all_that_wait(self)
        self._own = names
        super().finalize()
        for variable in self._final_module.global_variables:
            if variable.name.startswith(ENVIRONMENT):
                environment = lookup_environment(variable.name)
                if environment is not None:
                    self._codegen.set_env(variable.name, environment)

    def _wait(self) -> None:
        self._raise_if_finalized()
        for library in self._linking_libraries:
            self._reload_init.update(library._reload_init)
        for function in self._final_module.functions:
            # Helpers that several modules may bring along.
            if not function.is_declaration and not function.name.startswith(MANGLED):
                function.linkage = "linkonce_odr"
        self.waits = self._finalized = True

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            # What nobody else calls can be merged into its only caller and dropped.
            if not function.is_declaration and function.name not in self._own:
                function.linkage = "internal"
            if not function.is_declaration and function.name.startswith(
                tuple(NEVER_INLINED)
            ):
                function.add_function_attribute("noinline")
        super()._optimize_final_module()

    def serialize_using_object_code(self) -> Any:
        """Return the machine code, without what linking it elsewhere would need."""
        self._ensure_finalized()
        symbols = sorted(_defined(self._final_module))
        return self.name, "object", (self._get_compiled_object(), symbols)

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        name, _, (code, symbols) = state
        library = codegen.create_library(name)
        library.enable_object_caching()
        library._set_compiled_object(code)
        library._finalize_final_module()
        codegen._engine._defined_symbols.update(symbols)
        return library


def _all_that_wait(library: Any) -> list[Any]:
    """Libraries that one needs, each after all that call it.

    The linker leaves out helpers that nobody has referred to so far.
    """
    order: dict[Any, None] = {}

    def visit(caller: Any) -> None:
        for other in reversed(caller._linking_libraries):
            if other not in order:
                if getattr(other, "waits", False):
                    visit(other)
                order[other] = None

    visit(library)
    return list(reversed(order))


class LeanCodegen(JITCPUCodegen):
    """Makes the libraries above."""

    _library_class = LeanLibrary

    def _get_host_cpu_name(self) -> Any:
        return level() or super()._get_host_cpu_name()

    def _get_host_cpu_features(self) -> Any:
        name = level()
        return FEATURES.get(name, "") if name else super()._get_host_cpu_features()

    def set_env(self, env_name: str, env: Any) -> None:
        """Point a function to its constants, if it has not been merged or dropped."""
        if self._engine.is_symbol_defined(env_name):
            super().set_env(env_name, env)


class LeanCallConv(CPUCallConv):
    """Calls as numba's; says more of the addresses of tuples (`references`)."""

    def decorate_function(
        self, fn: Any, args: Any, fe_argtypes: Any, **more: Any
    ) -> None:
        """Say that nobody changes such a tuple meanwhile, and that it can be read."""
        super().decorate_function(fn, args, fe_argtypes, **more)
        arguments = iter(self.get_arguments(fn))
        for kind in fe_argtypes:
            numbers = len(self.context.get_arg_packer([kind]).argument_types)
            for argument in itertools.islice(arguments, numbers):
                if isinstance(kind, Reference):
                    argument.add_attribute("noalias")
                    size = self.context.get_abi_sizeof(argument.type.pointee)
                    argument.attributes.dereferenceable = size
                    argument.attributes.align = 8


class LeanContext(cpu.CPUContext):
    """Lowers as for the processor."""

    @property
    def call_conv(self) -> Any:
        """How functions call each other."""
        return LeanCallConv(self)

    def init(self) -> None:
        """Begin as numba's does, with another way to generate code."""
        super().init()
        self._internal_codegen = LeanCodegen("onkel.exec")


class LeanDescriptor(registry.CPUTarget):
    """The two contexts of the target."""

    @threadsafe_cached_property
    def _toplevel_target_context(self) -> Any:
        return LeanContext(self.typing_context, self._target_name)


class Lean(CPU):
    """The target's place among the others."""


def _register() -> str:
    """Make the target known to numba; return its name."""
    target_registry[NAME] = Lean

    class LeanDispatcher(Dispatcher):
        targetdescr = LeanDescriptor(NAME)

        def compile(self, sig: Any) -> Any:
            # While it lowers, numba asks which target is the present one.
            with target_override(NAME):
                return super().compile(sig)

    dispatcher_registry[Lean] = LeanDispatcher
    jit_registry[Lean] = partial(jit, _target=NAME)
    return NAME


def _refuse_another_numba() -> None:
    """Make the import fail where numba no longer has what is built on here."""
    needed = {
        JITCodeLibrary: (
            *("_optimize_functions", "_get_module_for_linking", "finalize"),
            *("_optimize_final_module", "_finalize_final_module", "_unserialize"),
            *("_set_compiled_object", "_get_compiled_object"),
        ),
        JITCPUCodegen: (
            *("_library_class", "_get_host_cpu_name", "_get_host_cpu_features"),
            "set_env",
        ),
        cpu.CPUContext: ("init", "call_conv"),
        CPUCallConv: ("decorate_function",),
        registry.CPUTarget: ("_toplevel_target_context",),
    }
    for where, names in needed.items():
        for name in names:
            if not hasattr(where, name):
                raise ImportError(f"numba's {where.__name__} has no {name}")


_refuse_another_numba()
TARGET = _register()
