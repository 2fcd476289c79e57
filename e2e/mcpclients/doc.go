// Package mcpclients tests the gateway's /mcp with programs of others: the
// conformance suite of MCP, and MCP clients in the versions of package-lock.json.
// The tests are skipped unless "make conformance" has installed them.
package mcpclients
