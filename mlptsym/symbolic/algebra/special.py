"""Special functions of the size laws that SymPy lacks or has only in a form that overflows."""

from __future__ import annotations

from typing import Any

import mpmath
import sympy as sp
from sympy.core.function import ArgumentIndexError


class RegularizedUpperGamma(sp.Function):
    """Q(a, z) = Γ(a, z)/Γ(a), the tail of a gamma law with shape a (NIST DLMF 8.2.4); Q(a, 0) = 1, Q(a, ∞) = 0."""

    nargs = 2

    @classmethod
    def eval(cls, shape: sp.Expr, point: sp.Expr) -> sp.Expr | None:
        if point.is_zero:
            return sp.S.One
        return sp.S.Zero if point is sp.oo else None

    def fdiff(self, argindex: int = 2) -> sp.Expr:
        shape, point = self.args
        if argindex != 2:
            raise ArgumentIndexError(self, argindex)
        return -(point ** (shape - 1)) * sp.exp(-point) / sp.gamma(shape)

    def doit(self, **hints: Any) -> sp.Expr:
        shape, point = (argument.doit(**hints) for argument in self.args)
        return sp.uppergamma(shape, point) / sp.gamma(shape)

    def _eval_evalf(self, precision: int) -> sp.Expr | None:
        shape, point = self.args
        return (sp.uppergamma(shape, point) / sp.gamma(shape))._eval_evalf(precision)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        body = r"Q\left({}, {}\right)".format(*(printer._print(argument) for argument in self.args))
        return body if exp is None else rf"{body}^{{{exp}}}"


class GammaDensity(sp.Function):
    """z^(a−1) e^(−z)/Γ(a), the density of a gamma law with shape a and scale 1, where Γ(a) itself may overflow."""

    nargs = 2

    def fdiff(self, argindex: int = 2) -> sp.Expr:
        shape, point = self.args
        if argindex != 2:
            raise ArgumentIndexError(self, argindex)
        return ((shape - 1) / point - 1) * self

    def doit(self, **hints: Any) -> sp.Expr:
        shape, point = (argument.doit(**hints) for argument in self.args)
        return point ** (shape - 1) * sp.exp(-point) / sp.gamma(shape)

    def _eval_evalf(self, precision: int) -> sp.Expr | None:
        return self.doit()._eval_evalf(precision)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        shape, point = (printer._print(argument) for argument in self.args)
        body = rf"f_{{{shape}}}\left({point}\right)"
        return body if exp is None else rf"{body}^{{{exp}}}"


class RelativeExponential(sp.Function):
    """(e^z − 1)/z, continued by 1 at z = 0, without the loss of digits near zero."""

    nargs = 1

    @classmethod
    def eval(cls, point: sp.Expr) -> sp.Expr | None:
        return sp.S.One if point.is_zero else None

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        (point,) = self.args
        if argindex != 1:
            raise ArgumentIndexError(self, argindex)
        return (sp.exp(point) - self) / point

    def doit(self, **hints: Any) -> sp.Expr:
        point = self.args[0].doit(**hints)
        return (sp.exp(point) - 1) / point

    def _eval_evalf(self, precision: int) -> sp.Expr | None:
        (point,) = self.args
        if not point.is_number:
            return None
        with mpmath.workprec(precision):
            number = point._to_mpmath(precision)
            return sp.Expr._from_mpmath(mpmath.expm1(number) / number, precision)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        point = printer._print(self.args[0])
        body = rf"\frac{{e^{{{point}}} - 1}}{{{point}}}"
        return body if exp is None else rf"\left({body}\right)^{{{exp}}}"
