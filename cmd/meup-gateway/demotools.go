package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/mcp/toolserver"
)

//go:embed sample
var sample embed.FS

const npmPackage = "@modelcontextprotocol/server-filesystem"

// findDocs returns the folder that the agent reads: the named one, the
// repository's own, or a sample.
func (s *demoEnv) findDocs() (string, error) {
	dir := s.flags.docs
	if dir == "" {
		dir = "docs"
	}
	info, err := os.Stat(dir)
	if err == nil && info.IsDir() {
		return filepath.Abs(dir)
	}
	if s.flags.docs != "" {
		return "", fmt.Errorf("folder %s does not exist", s.flags.docs)
	}
	docs, err := fs.Sub(sample, "sample")
	if err != nil {
		return "", fmt.Errorf("read the sample documents: %w", err)
	}
	dir = filepath.Join(s.dir, "docs")
	if err := os.CopyFS(dir, docs); err != nil {
		return "", fmt.Errorf("write the sample documents: %w", err)
	}
	return dir, nil
}

// npmServer returns how to start the npm registry's server; nil if it was not
// requested, an error if it is unavailable.
func (s *demoEnv) npmServer() (*mcptools.Server, error) {
	if s.flags.mcp == "go" {
		return nil, nil //nolint:nilnil // not requested
	}
	if _, err := exec.LookPath("npx"); err != nil {
		return nil, errors.New("npx is not installed")
	}
	return &mcptools.Server{Name: "files", Command: []string{"npx", "-y", npmPackage, s.docs}}, nil
}

func (s *demoEnv) toolOptions() mcptools.Options {
	return mcptools.Options{Version: version, Logger: s.log, StartTimeout: time.Minute}
}

func (s *demoEnv) goTools(ctx context.Context) (*mcptools.Set, error) {
	server, closeDir, err := toolserver.NewDocuments(s.docs, version)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = closeDir() }) // the folder stays open while the demo runs
	return mcptools.Start(ctx, []mcptools.Server{{Name: "files", InProcess: server}}, s.toolOptions())
}
