"""The names of each field in the formats of vendors. A new format needs an entry here and a file in
`tests/data/shapes`."""

# Keys of an object around the definition: OpenAI's chat format, Amazon Bedrock's.
WRAPPERS = ("function", "toolSpec", "tool_spec", "tool")
# Keys of the description; the first that is not empty counts.
DESCRIPTIONS = ("description", "desc", "modelDescription", "summary", "title", "annotations.title")
# Keys of the parameters, and whether the key is certain: an unreadable value there rejects the record. Under an
# uncertain key it is only reported as not read.
PARAMETERS = {
    "inputSchema.json": False,  # Amazon Bedrock
    "inputSchema": True,  # MCP
    "input_schema": True,  # Anthropic
    "parameters": True,  # OpenAI; a mapping by name: ToolBench, xLAM, API-Bank; a list: Dify, OpenAPI
    "parametersJsonSchema": False,  # Gemini
    "parameters_json_schema": False,
    "schema.parameters": False,
    "schema.inputSchema": False,
    "schema.input_schema": False,
    "schema": False,
    "args_schema": False,  # LangChain
    "parameter_definitions": False,  # Cohere
    "input_parameters": False,
    "inputParameters": False,
    "inputs": False,  # smolagents
    "args": False,
    "arguments": False,  # Docker's registry of MCP servers, and MCP's prompts
    "parameter": False,  # MCP-Zero
    "params": False,
}
# Two lists, of the required parameters and of the others.
SPLIT_PARAMETERS = ("required_parameters", "optional_parameters")
# Keys of the schema of what a call answers, and whether the key is certain: only there, shapes other than JSON Schema
# are read. Elsewhere the key may mean anything.
OUTPUTS = {
    "outputSchema.json": True,
    "outputSchema": True,  # MCP
    "output_schema": True,
    "output_parameters": True,
    "outputParameters": True,
    "responseJsonSchema": False,  # Gemini
    "response_json_schema": False,
    "response": False,  # Gemini
    "responseSchema": False,
    "response_schema": False,
    "returns": False,
    "return_schema": False,
    "output": False,
    "outputs": False,
}
PROVIDERS = ("provider", "serverInfo.name", "server.name", "server", "server_name", "serverName")
CATEGORIES = ("category", "categories", "tags")
EXAMPLES = ("input_examples", "examples")
# Keys that say nothing about the purpose of a tool; they are not reported as unread.
METADATA = frozenset(
    "$schema id uid uuid slug key type kind version schema_version url uri link homepage website repository repo "
    "source icon icons image logo avatar color theme _meta meta metadata outputSchema output_schema output outputs "
    "output_type outputType returns return_type response responses strict execution created created_at createdAt "
    "updated updated_at updatedAt timestamp author authors license licence maintainer owner embedding embeddings "
    "vector vectors cache_control defer_loading allowed_callers enabled disabled hidden status index order position "
    "hash checksum stars downloads nextCursor _id name_embedding description_embedding".split()
)
