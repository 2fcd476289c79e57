package llm

import (
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/internal/kit/textutil"
)

const (
	maxErrorBody = 64 << 10
	maxCode      = 100  // bytes of a provider's code
	maxMessage   = 1000 // bytes of its message
	maskedKey    = "[key]"
)

// Refusal returns the error for a provider's code and message, masked and
// shortened for logs. Status is 0 for a refusal within a stream: there, a code
// that is a number is the status, as vLLM and OpenRouter send it.
func (c *Client) Refusal(status int, code, message string) *Error {
	if n, err := strconv.Atoi(code); status == 0 && err == nil && n >= 400 && n <= 599 {
		status, code = n, ""
	}
	return &Error{
		Provider: c.Provider,
		Status:   status,
		Code:     textutil.Shorten(c.Mask(code), maxCode),
		Message:  textutil.Shorten(c.Mask(message), maxMessage),
	}
}

// Mask replaces the client's secrets in a text.
func (c *Client) Mask(text string) string {
	for _, s := range c.Secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, maskedKey)
		}
	}
	return text
}

// refusal reads the response to a refused request.
func (c *Client) refusal(resp *http.Response, s *stream) *Error {
	body, _ := io.ReadAll(io.LimitReader(s, maxErrorBody)) // a partial body is still useful
	var code, message string
	if c.ParseError != nil {
		code, message = c.ParseError(resp.StatusCode, body)
	}
	if code == "" && message == "" {
		text := strings.TrimSpace(strings.ToValidUTF8(string(body), "�"))
		if !strings.HasPrefix(text, "<") { // an HTML page is no message
			message = text
		}
	}
	e := c.Refusal(resp.StatusCode, code, message)
	e.RetryAfter = retryAfter(resp.Header, c.Retry.now())
	return e
}

// masked is an error with the secrets masked in its text.
type masked struct {
	text string
	err  error
}

func (m *masked) Error() string { return m.text }
func (m *masked) Unwrap() error { return m.err }

func (c *Client) maskError(err error) error {
	text := err.Error()
	if clean := c.Mask(text); clean != text {
		return &masked{clean, err}
	}
	return err
}
