package webtest

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/meup-protocol/meup/cmd/meup-gateway/demo"
	"github.com/meup-protocol/meup/internal/agent/planner/rules"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

// playDemo opens the page in a tab whose user is the visitor of the scene of
// the demo.
func playDemo(t *testing.T, tab *Tab, pace time.Duration) {
	t.Helper()
	config, tokens := "spaces:\n  demo:\n    visibility: everyone\n    participants:\n      you: {token: you-token, capabilities: [\"*\"]}"+demo.Participants, make(map[protocol.ParticipantID]string)
	for _, who := range demo.Cast() {
		tokens[who] = string(who) + "-token"
		t.Setenv("DEMO_"+strings.ToUpper(string(who)), tokens[who])
	}
	g := meuptest.Start(t, config)
	ctx, cancel := context.WithCancel(t.Context())
	scene, err := demo.Start(ctx, demo.Options{
		URL: "ws://" + g.Addr() + "/ws", Space: "demo", Tokens: tokens, Visitor: "you", Dir: t.TempDir(), Planner: rules.Rules{}, Pace: pace,
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- scene.Run(ctx) }() // ends with ctx
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the scene: %v", err)
		}
	})
	tab.Open(g.HTTP() + "/#code=" + g.Gateway().NewLoginCode("you-token"))
	tab.Await(entered)
}

// Expressions for the page of a demo.
const (
	approveButton = `document.querySelector(".rows .decide meup-proposal-card")?.shadowRoot?.querySelector("meup-approve-form")?.shadowRoot?.querySelector("button.main")`
	announced     = `document.querySelector(".rows")?.textContent.includes("Version 2.4 is announced")`
)

// TestDemo_Page plays the scene of the demo in a browser up to the answer.
func TestDemo_Page(t *testing.T) {
	tab := SharedBrowser(t).Private(t)
	look{"light", "light", 1280, 860}.with(tab, 1)
	playDemo(t, tab, time.Millisecond)
	tab.Await(approveButton)
	shoot(t, tab, filepath.Join(screenshotDir, "demo-waiting.png"))
	decide(t, tab, approveButton)
	tab.Await(announced)
	shoot(t, tab, filepath.Join(screenshotDir, "demo-answer.png"))
	tab.Clean()
}

// The recording of the README.
const (
	frameTime = 400 * time.Millisecond // between two frames
	holdTime  = 3 * time.Second        // of a frame that is to be read
	colors    = 255                    // of a frame, and one for transparent
)

// TestRecording records the scene of the demo for the README, on request.
func TestRecording(t *testing.T) {
	if !*forReadme {
		t.Skip("without -screenshots the README keeps its recording")
	}
	tab := SharedBrowser(t).Private(t)
	look{"light", "light", 1000, 720}.with(tab, 1)
	playDemo(t, tab, demo.DefaultPace)
	r := new(recording)
	r.until(t, tab, approveButton)
	r.add(t, tab, holdTime)
	decide(t, tab, approveButton)
	r.until(t, tab, `document.querySelector(".rows")?.textContent.includes("play the scene again")`)
	r.add(t, tab, 2*holdTime)
	r.write(t, filepath.Join(root, "docs", "images", "demo.gif"))
}

// recording is an animated image.
type recording struct {
	movie gif.GIF
	last  *image.RGBA
}

// until adds frames until an expression is true in the page.
func (r *recording) until(t *testing.T, tab *Tab, expression string) {
	t.Helper()
	for !Eval[bool](tab, "Boolean("+expression+")") {
		r.add(t, tab, frameTime)
		pause(frameTime)
	}
}

// add adds a screenshot of the tab, of which a frame has only the part that has
// changed. If nothing has changed, the last frame is shown longer.
func (r *recording) add(t *testing.T, tab *Tab, d time.Duration) {
	t.Helper()
	var data []byte
	tab.Do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		var err error
		data, err = chromedp.CaptureScreenshot()(ctx, target)
		return err
	}))
	decoded, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	shot := image.NewRGBA(decoded.Bounds())
	draw.Draw(shot, shot.Bounds(), decoded, image.Point{}, draw.Src)
	delay := int(d / (10 * time.Millisecond))
	area := shot.Bounds()
	if r.last != nil {
		area = changed(r.last, shot)
	}
	if area.Empty() {
		r.movie.Delay[len(r.movie.Delay)-1] += delay
		return
	}
	r.movie.Image = append(r.movie.Image, paletted(shot, r.last, area))
	r.movie.Delay = append(r.movie.Delay, delay)
	r.movie.Disposal = append(r.movie.Disposal, gif.DisposalNone)
	r.last = shot
}

// changed returns the smallest rectangle with all pixels that differ.
func changed(a, b *image.RGBA) image.Rectangle {
	var area image.Rectangle
	for y := range b.Rect.Dy() {
		for x := range b.Rect.Dx() {
			if a.RGBAAt(x, y) != b.RGBAAt(x, y) {
				area = area.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return area
}

// paletted returns a part of a screenshot in its most frequent colors; other
// colors become the nearest of them, and pixels as before are transparent.
func paletted(shot, last *image.RGBA, area image.Rectangle) *image.Paletted {
	count := make(map[color.RGBA]int)
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			count[shot.RGBAAt(x, y)]++
		}
	}
	frequent := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int { return count[b] - count[a] })
	palette := color.Palette{color.Transparent}
	index := make(map[color.RGBA]uint8)
	for i, c := range frequent {
		if i < colors {
			palette = append(palette, c)
		}
		index[c] = uint8(1 + palette[1:].Index(c))
	}
	out := image.NewPaletted(area, palette)
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			if c := shot.RGBAAt(x, y); last == nil || c != last.RGBAAt(x, y) {
				out.SetColorIndex(x, y, index[c])
			}
		}
	}
	return out
}

func (r *recording) write(t *testing.T, path string) {
	t.Helper()
	var out bytes.Buffer
	if err := gif.EncodeAll(&out, &r.movie); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d frames, %d kB: %s", len(r.movie.Image), out.Len()/1000, path)
}
