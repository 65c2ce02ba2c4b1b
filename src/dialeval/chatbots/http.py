"""A chatbot over HTTP, in the two ways that live tests know.

`POST .../chat/completions` is OpenAI's protocol, streamed or whole; any other address takes
`{"text": ...}` and answers `{"reply": ..., "end": false}`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from dialeval.chatbots.retrieval import RetrievalChatbot

MOST_BYTES = 1 << 20
NOTHING = "Tell me more."
"""Said when no comment fits."""

Answer = Callable[[str], str]
"""From what was said last to the reply."""


def answer_of(bot: RetrievalChatbot) -> Answer:
    """The best comment of a retrieval chatbot, as a reply."""

    def answer(text: str) -> str:
        found = bot.reply(text, most=1)
        return found[0].text if found else NOTHING

    return answer


def chat_server(answer: Answer, host: str = "127.0.0.1", port: int = 0) -> ThreadingHTTPServer:
    """A server that listens already; `serve_forever` answers. Port 0 finds a free one."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            try:
                asked = json.loads(self.rfile.read(min(length, MOST_BYTES)))
                completion = self.path.rstrip("/").endswith("/chat/completions")
                text = asked["messages"][-1]["content"] if completion else asked["text"]
                reply = answer(str(text))
            except (ValueError, LookupError, TypeError):
                self.send_error(400)
                return
            if completion and asked.get("stream"):
                self._stream(reply)
            elif completion:
                self._whole({"choices": [{"message": {"role": "assistant", "content": reply}}]})
            else:
                self._whole({"reply": reply, "end": False})

        def _whole(self, value: dict[str, Any]) -> None:
            content = json.dumps(value, ensure_ascii=False).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def _stream(self, reply: str) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            for piece in reply.split(" "):
                event = {"choices": [{"delta": {"content": f"{piece} "}}]}
                self.wfile.write(f"data: {json.dumps(event, ensure_ascii=False)}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")

        def log_message(self, *_: object) -> None:
            """Talks stay out of the log."""

    return ThreadingHTTPServer((host, port), Handler)


@contextmanager
def chatting(answer: Answer) -> Iterator[str]:
    """A chatbot on a free port of this machine while the block runs; gives its address."""
    server = chat_server(answer)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
