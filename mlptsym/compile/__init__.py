"""From formulas to functions of numbers; the only place where source code is generated."""

from mlptsym.compile.record import NumericFunction, compile_formula, compiled

__all__ = ["NumericFunction", "compile_formula", "compiled"]
