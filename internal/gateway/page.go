package gateway

import (
	"fmt"
	"io/fs"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/httpapi"
	"github.com/meup-protocol/meup/internal/gateway/web"
)

// openPage returns the page with these files, or the bundled page; nil if the
// program has none.
func openPage(files fs.FS) (httpapi.Page, error) {
	open := web.Bundled
	if files != nil {
		open = func() (*web.Site, error) { return web.New(files) }
	}
	site, err := open()
	if err != nil {
		return nil, fmt.Errorf("open the web page: %w", err)
	}
	if site == nil {
		return nil, nil //nolint:nilnil // a gateway without a page
	}
	return site, nil
}

// HasPage reports whether the gateway serves a web page.
func (g *Gateway) HasPage() bool { return g.page != nil }

// NewLoginCode returns a code with which one browser can sign in without the
// token: once, and within access.CodeLifetime. It is for the "#code=" fragment
// of the page's address, which browsers do not send.
func (g *Gateway) NewLoginCode(token string) string { return g.codes.New(token, time.Now()) }
