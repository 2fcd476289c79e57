"""The events of a thread."""

from __future__ import annotations

import meup
from support import SpaceTest


class ThreadTest(SpaceTest):
    async def test_events(self) -> None:
        alice, bob = await self.join("alice"), await self.join("bob")
        await alice.send("chat", {"message": "why?"}, id="q")
        seen: list[meup.ThreadEvent] = []
        async for event in self.space("carol").thread_events("q"):
            seen.append(event)
            if event.type == "asked":
                await bob.chat("because", correlation="q")
            if event.type == "ended":
                break
        self.assertEqual([(e.type, e.turn, e.from_, e.state, e.text) for e in seen], [
            ("asked", 1, "alice", "", "why?"), ("answered", 1, "bob", "", "because"), ("ended", 1, "", "completed", "because"),
        ])
        assert seen[0].envelope is not None
        self.assertEqual(seen[0].envelope.id, "q")
        async for event in alice.thread_events("q", after=seen[0].id):
            self.assertEqual(event, seen[1])
            break

    async def test_refused(self) -> None:
        with self.assertRaises(meup.ConnectError) as refused:
            async for _ in self.space("alice").thread_events("none/.."):
                pass
        self.assertEqual((refused.exception.status, refused.exception.code), (404, "not_found"))
        with self.assertRaises(OSError):
            async for _ in self.space("alice", url="http://127.0.0.1:1").thread_events("q"):
                pass
