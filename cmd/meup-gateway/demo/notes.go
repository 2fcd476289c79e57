package demo

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of one call.
const (
	maxNote      = 64 << 10 // bytes
	maxPublished = 1000     // announcements in the folder
)

// validVersion matches a version that can be part of a file's name.
var validVersion = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.-]{0,31}$`)

// notes is the folder of the scene, which the tools read and write.
type notes struct {
	root  *os.Root
	delay time.Duration // of each call, so that a person can watch it
}

func openNotes(dir string, delay time.Duration) (*notes, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &notes{root: root, delay: delay}, nil
}

// server returns the MCP server of the scene. again plays the scene once more.
func (n *notes) server(version string, again func(context.Context) error) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "meup-demo", Version: version}, nil)
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	addTool(server, n, mcp.Tool{Name: "read_note", Description: "Reads a note about the release of version 2.4.", Annotations: reads}, n.read)
	addTool(server, n, mcp.Tool{
		Name: "error_rates", Annotations: reads,
		Description: "Compares the error rates of a region on the day before and the day after version 2.4 was installed there.",
	}, n.rates)
	addTool(server, n, mcp.Tool{Name: "publish_announcement", Description: "Publishes the announcement of a version. Returns the name of the published note."}, n.publish)
	addTool(server, n, mcp.Tool{Name: "play_scene", Description: "Plays the scene of the demo again, from its first question."},
		func(ctx context.Context, _ struct{}) (string, error) {
			err := again(ctx)
			if errors.Is(err, errPlaying) { // an answer, and not a failure that an agent would work around
				return "Not now: " + err.Error() + ".", nil
			}
			return "The scene is played again.", err
		})
	return server
}

// addTool registers a tool whose result is one text.
func addTool[In any](server *mcp.Server, n *notes, tool mcp.Tool, run func(context.Context, In) (string, error)) {
	mcp.AddTool(server, &tool, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		if err := wait(ctx, n.delay); err != nil {
			return nil, nil, err
		}
		text, err := run(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
}

type readArgs struct {
	Name string `json:"name" jsonschema:"the note, such as checklist.md"`
}

func (n *notes) read(_ context.Context, args readArgs) (string, error) {
	text, err := n.root.ReadFile(path.Clean(args.Name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("there is no note %q", args.Name)
	case err != nil:
		return "", fmt.Errorf("read the note: %w", err)
	}
	return string(text), nil
}

type ratesArgs struct {
	Region string `json:"region" jsonschema:"the region: eu-north or ap-south"`
}

func (n *notes) rates(_ context.Context, args ratesArgs) (string, error) {
	file, err := n.root.Open(path.Join("metrics", path.Clean("/"+args.Region)+".csv"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no region %q", args.Region)
	}
	if err != nil {
		return "", fmt.Errorf("read the metrics: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was read only
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return "", fmt.Errorf("read the metrics: %w", err)
	}
	var requests, failures [2]int // before and after
	for _, row := range rows[1:] {
		day := 0
		if row[0] == "after" {
			day = 1
		}
		r, err1 := strconv.Atoi(row[2])
		f, err2 := strconv.Atoi(row[3])
		if err := errors.Join(err1, err2); err != nil {
			return "", fmt.Errorf("read the metrics: %w", err)
		}
		requests[day] += r
		failures[day] += f
	}
	percent := func(day int) float64 { return 100 * float64(failures[day]) / float64(max(1, requests[day])) }
	return fmt.Sprintf("%s %.3f %% before, %.3f %% after", args.Region, percent(0), percent(1)), nil
}

type publishArgs struct {
	Version string `json:"version" jsonschema:"the version, such as 2.4"`
	Text    string `json:"text" jsonschema:"the announcement"`
}

// publish writes the announcement under a name that is not in use.
func (n *notes) publish(_ context.Context, args publishArgs) (string, error) {
	switch {
	case !validVersion.MatchString(args.Version):
		return "", fmt.Errorf("%q is not a version", args.Version)
	case strings.TrimSpace(args.Text) == "":
		return "", errors.New("the announcement has no text")
	case len(args.Text) > maxNote:
		return "", fmt.Errorf("the announcement has more than %d bytes", maxNote)
	}
	if err := n.root.MkdirAll("published", 0o700); err != nil {
		return "", fmt.Errorf("publish: %w", err)
	}
	for i := range maxPublished {
		name := "published/" + args.Version + ".md"
		if i > 0 {
			name = fmt.Sprintf("published/%s-%d.md", args.Version, i+1)
		}
		file, err := n.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("publish: %w", err)
		}
		_, err = file.WriteString(args.Text + "\n")
		err = errors.Join(err, file.Close())
		if err != nil {
			return "", fmt.Errorf("publish: %w", err)
		}
		return name, nil
	}
	return "", fmt.Errorf("version %s was announced %d times", args.Version, maxPublished)
}

// wait waits, so that a person can follow.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
