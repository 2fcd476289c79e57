"""Client for MEUP spaces: agents, tools and programs that share an ordered log.

    space = meup.connect()  # MEUP_URL, MEUP_TOKEN, MEUP_SPACE

    @space.on_question
    async def answer(question: meup.Question) -> None:
        async with question.reasoning() as r:
            result = await r.call_tool("files/read", {"path": "a.txt"}, reason="The file has it.")
            await r.conclude("Read it.")
        await question.answer(result.text)

    meup.run(space)
"""

from ._ask import Answer
from ._run import run
from ._thread import ThreadEvent
from .backoff import Backoff
from .calls import Elicitation, ProposalOutcome, ToolResult
from .catchup import EarlierCall
from .client import Receipt, Space, connect
from .connection import Participant, Position
from .envelope import Envelope, new_id
from .errors import (
    Closed,
    ConnectError,
    ConnectionClosed,
    Gap,
    Interrupted,
    MeupError,
    NotConfigured,
    NotReached,
    ParticipantLeft,
    ProposalError,
    ReasoningCancelled,
    Refused,
    RPCError,
    ToolError,
    ToolNotFound,
)
from .filters import Filter
from .questions import Question, Reasoning
from .tools import ToolCall

__all__ = [
    "Answer", "Backoff", "Closed", "ConnectError", "ConnectionClosed", "EarlierCall", "Elicitation", "Envelope", "Filter", "Gap", "Interrupted",
    "MeupError", "NotConfigured", "NotReached", "Participant", "ParticipantLeft", "Position", "ProposalError", "ProposalOutcome",
    "Question", "RPCError", "Reasoning", "ReasoningCancelled", "Receipt", "Refused", "Space", "ThreadEvent", "ToolCall", "ToolError", "ToolNotFound", "ToolResult",
    "connect", "new_id", "run",
]
