package archtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/meup-protocol/meup"

// mayImport lists, for every package, the packages of this repository that it
// may import, tests excluded. A package that is not listed is an error: a new
// package is added here with its allowed imports.
//
// Three rules matter most. The protocol imports the standard library only, and
// a client imports the protocol only. The package that decides (space) uses a
// log only through its interface. The agents of this repository connect as
// clients do.
var mayImport = map[string][]string{
	"protocol":            {"protocol/strictjson"},
	"protocol/strictjson": {},
	"schemas":             {"protocol"},
	"client":              {"protocol"},
	"client/api":          {"protocol"},
	"sdk/python":          {},

	// The public helper for agents, and the conformance suite.
	"client/agent":                {"protocol", "client", "client/api", "internal/agent", "internal/agent/addressing", "internal/agent/bridge", "internal/agent/catchup", "internal/agent/contextwindow", "internal/agent/mcptools", "internal/elicit", "internal/participant"},
	"internal/jsonmatch":          {},
	"sdk/conformance":             {"protocol", "client", "client/agent", "sdk/conformance/clienttest", "sdk/conformance/gatewaytest", "sdk/conformance/vector"},
	"sdk/conformance/clienttest":  {"protocol", "schemas", "internal/agent/subprocess", "internal/jsonmatch", "sdk/conformance/vector"},
	"sdk/conformance/gatewaytest": {"protocol", "internal/jsonmatch", "sdk/conformance/vector"},
	"sdk/conformance/vector":      {},

	// Pure packages: values in, values out.
	"internal/frame":                    {},
	"internal/pmap":                     {},
	"internal/textutil":                 {},
	"internal/elicit":                   {"protocol"},
	"internal/token":                    {},
	"internal/directory":                {"protocol", "internal/capability", "internal/limit", "internal/pmap"},
	"internal/capability":               {"protocol", "internal/capability/pattern", "internal/pmap", "internal/textutil"},
	"internal/capability/pattern":       {"protocol"},
	"internal/limit":                    {"protocol", "internal/recent"},
	"internal/redact":                   {},
	"internal/safety":                   {"protocol", "internal/redact"},
	"internal/safety/safetytest":        {},
	"internal/turns":                    {"protocol", "client/api", "internal/answers", "internal/recent", "internal/turns/reduce", "internal/turns/rowset"},
	"internal/turns/rowset":             {"protocol"},
	"internal/turns/reduce":             {"protocol", "client/api", "internal/answers", "internal/outcome", "internal/proposal", "internal/reasondetail", "internal/textutil"},
	"internal/reasondetail":             {"protocol", "client/api", "internal/textutil"},
	"internal/outcome":                  {"protocol", "internal/textutil"},
	"internal/answers":                  {"protocol", "internal/recent"},
	"internal/recent":                   {},
	"internal/gateway/export":           {"protocol", "client/api", "internal/gateway/transcript", "internal/journal", "internal/journal/entrydb", "internal/journal/pebblejournal", "internal/terminal/termsafe", "internal/textutil", "internal/turns"},
	"internal/gateway/backup":           {"internal/gateway/control", "internal/journal/entrydb", "internal/journal/pebblejournal"},
	"internal/gateway/control":          {},
	"internal/gateway/turnstore/turndb": {"protocol", "internal/derivedb", "internal/turns"},
	"internal/gateway/turnstore":        {"protocol", "internal/gateway/turnstore/turndb", "internal/journal", "internal/space", "internal/space/ring", "internal/turns"},
	"internal/gateway/transcript":       {"protocol", "client/api", "internal/outcome", "internal/textutil"},

	// The log.
	"internal/journal":               {"protocol"},
	"internal/journal/entrydb":       {"protocol", "internal/pebbleopen", "internal/journal"},
	"internal/journal/memory":        {"protocol", "internal/journal"},
	"internal/journal/pebblejournal": {"protocol", "internal/journal", "internal/journal/entrydb", "internal/proposal"},
	"internal/journal/natsjournal":   {"protocol", "internal/journal", "internal/journal/natsjournal/block", "internal/journal/natsjournal/position", "internal/journal/natsjournal/publisher", "internal/journal/natsjournal/replica", "internal/natsconn"},
	"internal/journal/journaltest":   {"protocol", "internal/journal", "internal/testkit"},

	"internal/journal/natsjournal/block":     {"protocol", "internal/journal", "internal/natsconn"},
	"internal/journal/natsjournal/position":  {},
	"internal/journal/natsjournal/publisher": {"internal/journal", "internal/journal/natsjournal/block"},
	"internal/journal/natsjournal/replica":   {"protocol", "internal/journal", "internal/journal/entrydb", "internal/journal/natsjournal/block", "internal/natsconn", "internal/proposal"},

	// Search.
	"internal/pebbleopen":                 {},
	"internal/derivedb":                   {"internal/pebbleopen"},
	"internal/search":                     {"protocol", "internal/derivedb"},
	"internal/mcpschema":                  {},
	"internal/memorytools":                {"protocol", "client/api", "internal/mcpschema", "internal/textutil"},
	"internal/gateway/selfapi":            {"protocol", "client/api"},
	"internal/gateway/adapter":            {"protocol", "client/api", "internal/ask", "internal/gateway/access", "internal/gateway/auth", "internal/gateway/selfapi", "internal/limit"},
	"internal/gateway/agui":               {"protocol", "internal/gateway/access", "internal/gateway/adapter", "internal/ask", "internal/proposal"},
	"internal/gateway/a2a":                {"protocol", "client/api", "internal/gateway/access", "internal/gateway/adapter", "internal/ask", "internal/proposal"},
	"internal/gateway/openaiapi":          {"protocol", "client/api", "internal/ask", "internal/capability", "internal/gateway/access", "internal/gateway/adapter", "internal/outcome", "internal/proposal", "internal/recent", "internal/textutil"},
	"internal/gateway/otlpreceiver":       {"protocol", "client/api", "internal/gateway/access", "internal/gateway/adapter", "internal/limit", "internal/recent", "internal/textutil"},
	"internal/ask":                        {"protocol", "client/api", "internal/answers", "internal/capability", "internal/proposal", "internal/recent", "internal/textutil"},
	"internal/gateway/hooks":              {"protocol", "client/api", "internal/gateway/access", "internal/gateway/adapter", "internal/gateway/auth", "internal/gateway/selfapi", "internal/hookconfig", "internal/proposal", "internal/recent", "internal/textutil"},
	"internal/gateway/searchstore":        {"protocol", "internal/search", "internal/space", "internal/space/ring"},
	"internal/gateway/mcpserver":          {"protocol", "client/api", "internal/elicit", "internal/gateway/access", "internal/gateway/adapter", "internal/gateway/mcpserver/offer", "internal/gateway/mcpserver/progress", "internal/gateway/mcpserver/result", "internal/gateway/mcpserver/slots", "internal/gateway/resourcemeta", "internal/gateway/selfapi", "internal/mcpschema", "internal/memorytools", "internal/proposal", "internal/recent", "internal/textutil"},
	"internal/gateway/mcpserver/progress": {},
	"internal/gateway/resourcemeta":       {"protocol", "internal/gateway/access"},
	"internal/gateway/mcpserver/result":   {"protocol", "internal/gateway/mcpserver/offer"},
	"internal/gateway/mcpserver/slots":    {},
	"internal/gateway/mcpserver/offer":    {"protocol", "internal/capability", "internal/textutil"},

	// Packages that the gateways of a cluster share, in addition to the log.
	"internal/natsconn":        {},
	"internal/gateway/cluster": {"protocol", "internal/natsconn"},

	// The gateway.
	"internal/gateway/auth":    {"protocol", "internal/textutil", "internal/token"},
	"internal/gateway/config":  {"protocol", "internal/capability", "internal/capability/pattern", "internal/limit", "internal/redact", "internal/safety", "internal/textutil", "schemas"},
	"internal/gateway/metrics": {"protocol"},
	"internal/space": {
		"protocol", "internal/directory", "internal/frame", "internal/journal", "internal/space/readset", "internal/space/admission", "internal/space/authority", "internal/space/buckets",
		"internal/space/buckets", "internal/space/contexts", "internal/space/presence", "internal/space/ring", "internal/space/streams",
	},
	"internal/space/admission": {
		"protocol", "internal/capability", "internal/journal", "internal/proposal", "internal/space/authority",
		"internal/space/buckets", "internal/space/contexts", "internal/space/ring", "internal/space/streams",
	},
	"internal/space/readset":   {},
	"internal/space/authority": {"protocol", "internal/capability", "internal/directory", "internal/journal", "internal/pmap", "internal/space/ring"},
	"internal/space/buckets":   {"protocol", "internal/space/authority"},
	"internal/space/contexts":  {"protocol", "internal/space/ring", "internal/textutil"},
	"internal/space/presence":  {"protocol", "internal/space/buckets"},
	"internal/space/ring":      {"protocol", "internal/frame", "internal/journal"},
	"internal/space/streams":   {"protocol", "internal/journal", "internal/space/ring"},
	"internal/gateway/access":  {"protocol", "internal/gateway/auth", "internal/journal", "internal/space", "internal/textutil"},
	"internal/gateway/ws":      {"protocol", "internal/gateway/access", "internal/gateway/auth", "internal/frame", "internal/space", "internal/space/admission"},
	"internal/gateway/httpapi": {
		"protocol", "client/api", "internal/gateway/access", "internal/gateway/apidoc", "internal/gateway/auth", "internal/frame", "internal/limit", "internal/space",
		"internal/space/admission", "internal/space/ring", "internal/gateway/searchstore", "internal/gateway/transcript",
		"internal/gateway/turnstore", "internal/proposal", "internal/search", "internal/turns",
	},
	"internal/gateway/web": {},

	// Descriptions of the APIs.
	"internal/openapi":        {},
	"internal/gateway/apidoc": {"protocol", "schemas", "internal/gateway/access", "internal/openapi"},

	// Build and test support of the web page.
	"internal/gateway/web/bundle":   {},
	"internal/gateway/web/generate": {"internal/gateway/web/bundle"},
	"internal/webtest":              {"internal/testkit"},

	// Types of the TypeScript SDK.
	"sdk/typescript":          {},
	"sdk/typescript/generate": {"protocol"},

	// Test support.
	"internal/testkit":             {},
	"internal/program/programtest": {"internal/program", "internal/testkit"},

	"internal/webtest/pagetest": {"protocol", "client", "internal/meuptest", "internal/webtest"},

	// Assembly: imports every part of a gateway, and no agent.
	"internal/gateway": {
		"protocol", "schemas", "client/api", "internal/directory", "internal/gateway/access", "internal/gateway/auth", "internal/capability", "internal/gateway/cluster",
		"internal/gateway/config", "internal/gateway/control", "internal/gateway/httpapi", "internal/journal", "internal/journal/memory",
		"internal/journal/natsjournal", "internal/journal/pebblejournal", "internal/limit", "internal/gateway/metrics",
		"internal/natsconn", "internal/privatedir", "internal/redact", "internal/safety", "internal/space", "internal/space/authority",
		"internal/space/buckets", "internal/space/streams", "internal/gateway/a2a", "internal/gateway/adapter", "internal/gateway/agui", "internal/gateway/hooks", "internal/gateway/mcpserver", "internal/gateway/resourcemeta", "internal/gateway/searchstore", "internal/gateway/turnstore", "internal/gateway/web", "internal/gateway/ws", "internal/gateway/openaiapi", "internal/gateway/otlpreceiver",
	},
	"internal/meuptest": {
		"protocol", "client", "client/api", "client/reasoner", "client/reasoner/wire", "internal/agent/llm", "internal/agent/llm/llmtest",
		"internal/gateway/config", "internal/gateway", "internal/gateway/httpapi", "internal/jsonmatch", "internal/testkit",
	},

	// The agents of this repository.
	"internal/agent/docserver":             {"internal/textutil"},
	"internal/program":                     {"internal/terminal/termsafe"},
	"client/reasoner/wire":                 {},
	"client/reasoner":                      {"client/reasoner/wire", "internal/natsconn", "internal/textutil"},
	"internal/agent/telemetry/otlp":        {},
	"internal/agent/telemetry":             {"internal/agent/contextwindow", "internal/agent/llm", "internal/redact", "internal/textutil"},
	"internal/agent/llm":                   {},
	"internal/agent/llm/llmhttp":           {"internal/agent/llm", "internal/textutil"},
	"internal/agent/llm/openai":            {"internal/agent/llm", "internal/agent/llm/llmhttp"},
	"internal/agent/llm/anthropic":         {"internal/agent/llm", "internal/agent/llm/llmhttp"},
	"internal/agent/llm/models":            {"internal/agent/llm", "internal/agent/llm/llmhttp", "internal/agent/llm/anthropic", "internal/agent/llm/openai"},
	"internal/agent/llm/llmtest":           {"internal/agent/llm"},
	"internal/agent/contextwindow":         {"internal/agent/llm", "internal/textutil"},
	"internal/agent/mcptools":              {"protocol", "internal/agent/subprocess", "internal/elicit", "internal/textutil"},
	"internal/agent/subprocess":            {"internal/redact"},
	"internal/agent/publisher":             {"protocol", "client", "internal/agent/inbox", "internal/participant"},
	"internal/agent/mcptools/mcptoolstest": {},
	"internal/agent/planner":               {"protocol", "client/reasoner", "client/reasoner/wire", "internal/agent/llm", "internal/agent/llm/models", "internal/agent/contextwindow", "internal/agent/telemetry", "internal/textutil"},
	"internal/agent/planner/rules":         {"internal/agent/planner", "internal/agent/contextwindow", "internal/agent/llm", "internal/textutil"},
	"internal/agent/toolpins":              {"protocol", "client/api", "internal/participant"},
	"internal/agent/bridge":                {"protocol", "client", "client/api", "internal/agent/mcptools", "internal/agent/toolpins", "internal/elicit", "internal/participant", "internal/textutil"},
	"internal/demo":                        {"protocol", "client", "internal/agent", "internal/agent/addressing", "internal/agent/bridge", "internal/agent/contextwindow", "internal/agent/llm", "internal/agent/mcptools", "internal/agent/planner"},
	"internal/participant":                 {"protocol", "client"},
	"internal/acpconn":                     {"internal/textutil"},
	"internal/acpserver":                   {"protocol", "client/api", "internal/acpconn", "internal/ask", "internal/program", "internal/proposal", "internal/recent"},
	"internal/agent/acp":                   {"protocol", "client", "internal/acpconn", "internal/agent", "internal/agent/deltastream", "internal/agent/llm", "internal/agent/planner", "internal/agent/publisher", "internal/agent/subprocess", "internal/participant", "internal/proposal", "internal/recent", "internal/textutil"},
	"internal/natsembed":                   {"internal/privatedir"},
	"internal/reasoner":                    {"client/reasoner/wire", "internal/agent/llm", "internal/agent/planner", "internal/agent/planner/rules", "internal/agent/contextwindow", "internal/agent/telemetry", "internal/reasoner/api", "internal/reasoner/decisionlog", "internal/reasoner/workflow", "internal/recent", "internal/textutil"},
	"internal/reasoner/api":                {"client/reasoner/wire", "schemas"},
	"internal/reasoner/workflow":           {"client/reasoner/wire", "internal/reasoner/api", "internal/textutil"},
	"internal/reasoner/callback":           {"client/reasoner/wire"},
	"internal/reasoner/pool":               {"client/reasoner/wire", "internal/reasoner/api"},
	"internal/reasoner/httpapi":            {"client/reasoner/wire", "internal/openapi", "internal/reasoner/api", "internal/reasoner/decisionlog", "schemas"},
	"internal/reasoner/decisionlog":        {"client/reasoner/wire", "internal/privatedir"},
	"internal/reasoner/queue":              {"client/reasoner/wire", "internal/reasoner/api", "internal/textutil"},
	"internal/agent":                       {"protocol", "client", "internal/agent/addressing", "internal/agent/catchup", "internal/agent/causes", "internal/agent/chats", "internal/agent/contextwindow", "internal/agent/deltastream", "internal/agent/inbox", "internal/agent/llm", "internal/agent/mcptools", "internal/agent/parts", "internal/agent/peers", "internal/agent/planner", "internal/agent/planner/rules", "internal/agent/publisher", "internal/agent/remarks", "internal/agent/telemetry", "internal/agent/toolbox", "internal/agent/twins", "internal/elicit", "internal/participant", "internal/proposal", "internal/textutil"},
	"internal/agent/addressing":            {"protocol", "internal/participant", "internal/textutil"},
	"internal/agent/causes":                {"protocol", "client/reasoner", "internal/agent/contextwindow", "internal/agent/llm", "internal/agent/planner", "internal/redact"},
	"internal/agent/catchup":               {"protocol", "client", "client/api", "internal/agent/contextwindow", "internal/participant", "internal/proposal", "internal/textutil"},
	"internal/agent/inbox":                 {"protocol"},
	"internal/agent/twins":                 {"protocol", "internal/agent/inbox"},
	"internal/agent/chats":                 {"protocol", "internal/agent/addressing", "internal/agent/llm", "internal/textutil"},
	"internal/agent/deltastream":           {"protocol", "client", "internal/agent/llm"},
	"internal/agent/toolbox":               {"protocol", "client", "internal/participant", "internal/textutil", "internal/agent/contextwindow", "internal/agent/mcptools", "internal/agent/peers", "internal/agent/planner"},
	"internal/agent/remarks":               {"protocol", "internal/textutil"},
	"internal/agent/parts":                 {"protocol", "internal/agent/contextwindow", "internal/textutil"},
	"internal/agent/peers":                 {"protocol", "internal/agent/mcptools", "internal/participant"},
	"internal/privatedir":                  {},
	"internal/mcprelay":                    {"internal/textutil"},
	"internal/hookconfig":                  {"protocol", "client/api", "internal/privatedir", "internal/program", "internal/terminal/termsafe"},
	"internal/earlysignal":                 {},
	"internal/terminal/termsafe":           {},
	"internal/proposal":                    {"protocol"},
	"internal/terminal/blockrender":        {"protocol", "client/api", "internal/outcome", "internal/terminal/termsafe", "internal/textutil"},
	"internal/terminal/reasonblock":        {"protocol", "client/api", "internal/outcome", "internal/reasondetail", "internal/textutil"},
	"internal/terminal/conversation":       {"protocol", "client", "client/api", "internal/answers", "internal/elicit", "internal/participant", "internal/proposal", "internal/terminal/blockrender", "internal/terminal/grants", "internal/terminal/reasonblock", "internal/terminal/termsafe", "internal/textutil"},
	"internal/terminal/connect":            {"protocol", "client", "client/api", "internal/privatedir", "internal/program", "internal/terminal/termsafe", "internal/textutil"},
	"internal/terminal/admin":              {"protocol", "client/api", "internal/program", "internal/terminal/connect", "internal/terminal/manage", "internal/terminal/termsafe", "internal/textutil", "internal/token"},
	"internal/terminal/grants":             {"protocol", "client/api"},
	"internal/terminal/manage":             {"protocol", "client/api", "internal/program", "internal/terminal/blockrender", "internal/terminal/connect", "internal/terminal/conversation", "internal/terminal/grants", "internal/terminal/render", "internal/terminal/termsafe", "internal/terminal/tui", "internal/textutil"},
	"internal/terminal/proposals":          {"protocol", "client", "client/api", "internal/elicit", "internal/program", "internal/proposal", "internal/terminal/blockrender", "internal/terminal/connect", "internal/terminal/conversation", "internal/terminal/termsafe", "internal/terminal/tui", "internal/textutil"},
	"internal/terminal/render":             {"protocol", "client", "client/api", "internal/terminal/conversation", "internal/terminal/reasonblock", "internal/terminal/termsafe", "internal/textutil"},
	"internal/terminal/tui":                {"protocol", "client", "client/api", "internal/terminal/blockrender", "internal/terminal/conversation", "internal/terminal/grants", "internal/terminal/render", "internal/terminal/termsafe"},

	"internal/archtest": {},
}

// mayImportAll reports whether a package may import any other; none may import
// it.
func mayImportAll(name string) bool {
	return strings.HasPrefix(name, "cmd/") || name == "bench" || strings.HasPrefix(name, "bench/") ||
		name == "e2e" || strings.HasPrefix(name, "e2e/") || strings.HasPrefix(name, "scripts/") ||
		strings.HasPrefix(name, "examples/")
}

// goPackage is the part of the output of go list that the test uses.
type goPackage struct {
	ImportPath string
	Imports    []string
}

// packages returns all packages of the repository. The tests share them.
func packages(t *testing.T) []goPackage {
	t.Helper()
	list, err := listPackages()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

var listPackages = sync.OnceValues(func() (list []goPackage, err error) {
	// Without VCS stamping, which fails if the clone belongs to another user.
	cmd := exec.CommandContext(context.Background(), "go", "list", "-e", "-buildvcs=false", "-json=ImportPath,Imports", "./...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w: %s", err, &stderr)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
})

// own returns the name of a package of this repository without the module.
func own(importPath string) (string, bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		name, _ := own(p.ImportPath)
		if mayImportAll(name) {
			continue
		}
		allowed, listed := mayImport[name]
		if !listed {
			t.Errorf("%s is new: say in mayImport what it may import", name)
			continue
		}
		for _, path := range p.Imports {
			if imported, ours := own(path); ours && !slices.Contains(allowed, imported) {
				t.Errorf("%s must not import %s", name, imported)
			}
		}
	}
}

// TestProtocolStandsAlone checks that the protocol depends on the standard library
// only, directly and through the packages that it may import.
func TestProtocolStandsAlone(t *testing.T) {
	public := append(reachable("protocol"), "protocol")
	for _, p := range packages(t) {
		if name, _ := own(p.ImportPath); !slices.Contains(public, name) {
			continue
		}
		for _, path := range p.Imports {
			host, _, _ := strings.Cut(path, "/")
			if _, ours := own(path); !ours && strings.Contains(host, ".") {
				t.Errorf("%s must not import %s", p.ImportPath, path)
			}
		}
	}
}

// TestGateway_LeavesOut checks that the gateway, which is the first program that
// people build, does not contain large libraries that it has no use for.
func TestGateway_LeavesOut(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", module+"/cmd/meup-gateway").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.Lines(string(out)) {
		for _, large := range []string{
			"charm.land/", "github.com/chromedp/", "github.com/evanw/esbuild", "github.com/grpc-ecosystem/",
			"github.com/nats-io/nats-server/", "go.opentelemetry.io/otel/exporters/", "google.golang.org/grpc",
		} {
			if strings.HasPrefix(path, large) {
				t.Errorf("cmd/meup-gateway must not import %s", strings.TrimSpace(path))
			}
		}
	}
}

// TestFrontDoor checks that the packages of clients import no gateway package,
// directly or indirectly.
func TestFrontDoor(t *testing.T) {
	below := func(name string, tops ...string) bool {
		return slices.ContainsFunc(tops, func(top string) bool { return name == top || strings.HasPrefix(name, top+"/") })
	}
	for name := range mayImport {
		if !below(name, "client", "internal/agent", "internal/reasoner", "internal/terminal", "internal/participant", "internal/memorytools") {
			continue
		}
		for _, reached := range reachable(name) {
			if below(reached, "internal/space", "internal/journal", "internal/gateway", "internal/capability") {
				t.Errorf("%s reaches %s past the front door", name, reached)
			}
		}
	}
}

// reachable follows mayImport, which TestImports enforces.
func reachable(from string) []string {
	seen := []string{from}
	for i := 0; i < len(seen); i++ {
		for _, next := range mayImport[seen[i]] {
			if !slices.Contains(seen, next) {
				seen = append(seen, next)
			}
		}
	}
	return seen[1:]
}
