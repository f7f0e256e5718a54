"""
A run as one HTML file, for the button in the page: made while it is sent, so nothing of it is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from agentdbg.config import load_config
from agentdbg.interop.html_file import html_pieces

if TYPE_CHECKING:
    from agentdbg.server.state import ViewerState

__all__ = ["router"]

router = APIRouter()


@router.get("/api/runs/{run_id}/html")
def get_html(request: Request, run_id: str) -> Response:
    """The same file that `agentdbg export --format html` writes."""
    state: ViewerState = request.app.state.viewer
    state.run(run_id)  # whoever asks for no run is told so before anything is sent
    pieces = html_pieces(run_id, load_config()._replace(data_dir=state.data_dir))
    return StreamingResponse(
        pieces, media_type="text/html", headers={"content-disposition": f'attachment; filename="{run_id}.html"'}
    )
