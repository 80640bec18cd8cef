"""The router in other people's agent frameworks: `langgraph`, `openai_agents`. Each is imported only by who has it.

A tool is called by `call(tool_id, arguments)`, the caller's own: what it returns goes to the model, as JSON where it is
no text; what it raises ends the run. It may be async where the run is.
"""
