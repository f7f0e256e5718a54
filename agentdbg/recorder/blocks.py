"""
A call as a block: `with tool_call(…) as call:`, also `async with`.

Python cannot skip a block. So one that a decider has answered is told by `call.served`, and ends without doing its
work; one that does not ask is made all the same, and recorded as what it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.recorder.around import Call
from agentdbg.recorder.context import enter_scope, own_scope
from agentdbg.recorder.deciders import Outcome

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Block"]


class Block(Call):
    """A call that is made by the code in a block. The same object may be entered again."""

    @property
    def served(self) -> bool:
        """Whether a decider has answered in its place: then `result` or `response` is there, and the block can end."""
        self._is_noticed = True
        return self.decided is not None and self.decided.answer is not None

    def __enter__(self) -> Block:
        before = own_scope()
        try:
            if self.begin():
                self._before = before
                enter_scope(self.scope)
                if self.decided is not None:
                    self.decided.wait(self)
                    self._offer_answer()
        except BaseException as error:
            self._leave(error)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            instead = self._leave(error)
        except BaseException as interruption:
            self._leave(interruption)
            raise
        if instead is not error and instead is not None:
            raise instead from None

    async def __aenter__(self) -> Block:
        before = own_scope()
        try:
            if self.begin():
                self._before = before
                enter_scope(self.scope)
                if self.decided is not None:
                    await self.decided.wait_async(self)
                    self._offer_answer()
        except BaseException as error:
            self._leave(error)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.decided is not None and not self.is_over:
            await self.decided.settle(Outcome(self._answer, error))
        self.__exit__(kind, error, trace)

    @property
    def _answer(self) -> Any:
        return self.response if self.kind == "llm" else self.result

    def _offer_answer(self) -> None:
        answer = None if self.decided is None else self.decided.answer
        if answer is None:
            return
        if answer.error is not None:
            raise answer.error
        self._is_noticed = False
        self._take(answer.value if answer.items is None else list(answer.items))

    def _leave(self, error: BaseException | None) -> BaseException | None:
        """End the call unless it has ended; gives what the deciders leave of an exception."""
        if self.is_over:
            return error
        enter_scope(self._before)
        if self.decided is not None:
            outcome = self.decided.outcome(Outcome(self._answer, error))
            if outcome.error is None and error is None:
                self._take(outcome.value)
            error = outcome.error or error  # a block that raised cannot be made to go on
        self._end(error)
        return error
