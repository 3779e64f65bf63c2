"""What a level costs the jobs that pass it, and the growth of squares, at a symbolic level; and lists of levels."""

from __future__ import annotations

import sympy as sp

from mlptsym.ledger.paper import printed
from mlptsym.ledger.paper.notation import J, t
from mlptsym.symbolic.algebra.symbols import service
from mlptsym.symbolic.mean.response import level_terms
from mlptsym.symbolic.model.moments import Indicator, expectation
from mlptsym.symbolic.policies.algorithm import piece


def ends(r: sp.Expr | int) -> list[sp.Expr]:
    """The boundaries of level r, 0 left out."""
    return [point for point in (t(r - 1), t(r)) if not point.is_zero]


def survivors_piece(r: sp.Expr | int) -> sp.Expr:
    """E[Y_r ; S > t_r]: what level r costs those who go on."""
    return expectation(piece(r) * Indicator(service, t(r)), ends(r))


def product_of_pieces(*, last: bool) -> sp.Expr:
    """E[X_J Y_{J+1}] = a_J E[Y_{J+1}]: X_J is a_J for every job that reaches level J + 1."""
    return printed.before(J + 1) * level_terms(J + 1, last=last).piece_mean


def completed_pieces(*, last: bool) -> sp.Expr:
    """E[X_{J+1} ; J + 1 is the level of completion]: a_J behind the job, and its piece."""
    here = Indicator(service, t(J)) - (sp.S.Zero if last else Indicator(service, t(J + 1)))
    points = [t(J)] if last else [t(J), t(J + 1)]
    return expectation((printed.before(J + 1) + piece(J + 1, last=last)) * here, points)


def squares_growth(*, last: bool) -> sp.Expr:
    """W_{J+1} − W_J for W_J = E[X_J²] + Σ_{r>J} E[Y_r²], where X_J = a_J for those who reach level J + 1."""
    here, reached = piece(J + 1, last=last), Indicator(service, t(J))
    a = printed.before(J + 1)
    points = [t(J)] if last else ends(J + 1)
    return expectation(((a + here) ** 2 - a**2) * reached - here**2, points)


def places(*counts: int, below: int = 0) -> list[tuple[int, int]]:
    """All levels j = 1 … k − ``below`` of each number k of levels."""
    return [(j, k) for k in counts for j in range(1, k + 1 - below)]
