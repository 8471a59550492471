"""The losses on tensors: what `engine.objective` computes row by row, all at once."""

from typing import Any, NamedTuple

import torch

from onkel.problem.losses import Kind, Loss

# Losses that read f - y, not y f.
RESIDUAL = (
    *(Kind.SQUARED_ERROR, Kind.ABSOLUTE_ERROR, Kind.EPSILON_INSENSITIVE),
    Kind.SMOOTH_TUBE,
)


class Derivatives(NamedTuple):
    """Losses of scores, weighted, and their derivatives by the scores."""

    lost: torch.Tensor  # the sum
    slopes: torch.Tensor  # shape (rows, outputs)
    curvatures: torch.Tensor  # shape (rows,), meant over the outputs


def differentiate(
    loss: Loss, scores: torch.Tensor, y: torch.Tensor, C: torch.Tensor
) -> Derivatives:
    """Return losses and derivatives; several classes are one against the rest each.

    But for the log loss, which is that of their softmax.

    Examples
    --------
    >>> from onkel.problem import losses
    >>> scores, y, C = torch.tensor([[0.5]]), torch.tensor([1.0]), torch.tensor([2.0])
    >>> lost, slopes, curvatures = differentiate(
    ...     losses.make("squared_hinge"), scores, y, C
    ... )
    >>> lost.item(), slopes.item(), curvatures.item()
    (0.25, -1.0, 2.0)
    """
    outputs = scores.shape[1]
    if outputs > 1:
        is_own = torch.arange(outputs, device=y.device) == y[:, None]
        if loss.kind == Kind.LOG_LOSS:
            shares = torch.softmax(scores, dim=1)
            lost = (
                torch.logsumexp(scores, dim=1)
                - scores.gather(1, y[:, None].long())[:, 0]
            )
            bends = shares * (1.0 - shares)
            return Derivatives(
                C @ lost, C[:, None] * (shares - 1.0 * is_own), C * bends.mean(dim=1)
            )
        target = 2.0 * is_own.to(scores.dtype) - 1.0
    else:
        target = y[:, None]
    lost, slopes, bends = _each(loss, scores, target)
    return Derivatives(C @ lost.sum(dim=1), C[:, None] * slopes, C * bends.mean(dim=1))


def _each(loss: Loss, f: torch.Tensor, y: torch.Tensor) -> tuple[Any, Any, Any]:
    """Value, slope and curvature of each."""
    if loss.kind in RESIDUAL:
        return _of_residuals(loss, f - y)
    value, slope, bend = _of_margins(loss, y * f)
    return value, y * slope, bend


def _of_margins(loss: Loss, m: torch.Tensor) -> tuple[Any, Any, Any]:
    """By the margin y f."""
    lacking = torch.clamp(1.0 - m, min=0.0)
    if loss.kind == Kind.SQUARED_HINGE:
        return lacking**2 / 2.0, -lacking, (m < 1.0).to(m.dtype)
    if loss.kind == Kind.SMOOTH_HINGE:
        width = loss.smoothing
        is_straight = m < 1.0 - width
        value = torch.where(is_straight, 1.0 - m - width / 2.0, lacking**2 / width / 2)
        slope = -torch.clamp(lacking / width, max=1.0)
        return value, slope, ((m < 1.0) & ~is_straight).to(m.dtype) / width
    if loss.kind == Kind.LOG_LOSS:
        # log(1 + exp(-m)) without forming exp of a large number
        value = torch.clamp(-m, min=0.0) + torch.log1p(torch.exp(-m.abs()))
        share = torch.sigmoid(-m)
        # Not 1 - share, which is 0 long before the curvature is.
        return value, -share, share * torch.sigmoid(m)
    kink = loss.margin if loss.kind == Kind.PERCEPTRON else 1.0
    is_wrong = m <= kink if loss.kind == Kind.PERCEPTRON else m < kink
    return torch.clamp(kink - m, min=0.0), -1.0 * is_wrong, torch.zeros_like(m)


def _of_residuals(loss: Loss, r: torch.Tensor) -> tuple[Any, Any, Any]:
    """By the residual f - y."""
    if loss.kind == Kind.SQUARED_ERROR:
        return r * r / 2.0, r, torch.ones_like(r)
    epsilon = 0.0 if loss.kind == Kind.ABSOLUTE_ERROR else loss.epsilon
    beyond = torch.clamp(r.abs() - epsilon, min=0.0)
    if loss.kind != Kind.SMOOTH_TUBE:
        return beyond, torch.sign(r) * (beyond > 0.0), torch.zeros_like(r)
    width = loss.smoothing
    is_bent = beyond <= width
    value = torch.where(is_bent, beyond**2 / width / 2.0, beyond - width / 2.0)
    slope = torch.sign(r) * torch.clamp(beyond / width, max=1.0)
    return value, slope, (is_bent & (beyond > 0.0)).to(r.dtype) / width
