package openaiapi

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// Bounds of a request.
const (
	maxBody     = 4 << 20 // bytes; clients send the whole conversation, with images
	maxLabel    = 256     // bytes of a text that distinguishes conversations
	maxMessages = 5000
	maxParts    = 256 // of a message
	maxTitle    = 6   // words
)

// input is what the adapter uses of a request.
type input struct {
	model string
	space string
	to    protocol.ParticipantID // "": all

	text    string // the last message of the user
	first   string // the first one
	earlier string // the one before the last; "": none
	alone   bool   // there is no other message

	// same is the part of the request that a retry repeats: the messages up to the last
	// one of the user.
	same   string
	labels []string // what tells conversations apart
	// previous is the response that a request continues; "": none.
	previous string

	stream bool
	usage  bool // of a stream
}

// decode reads a request: of chat completions, or of responses. It calls admit when the
// model is known, before it reads the conversation.
func decode(body []byte, responses bool, admit func(*input) error) (*input, error) {
	doc, err := protocol.ParseForeignJSON(body, protocol.MaxDepth)
	if err != nil {
		return nil, invalid("", "The body must be a JSON object: "+err.Error()+".")
	}
	root := doc.Root()
	if root.Type() != protocol.TypeObject {
		return nil, invalid("", "The body must be a JSON object.")
	}
	in := &input{model: root.Get("model").Text()}
	in.space, in.to, err = parseModel(in.model)
	if err != nil {
		return nil, err
	}
	if err := admit(in); err != nil {
		return nil, err
	}
	if err := refuse(root, responses); err != nil {
		return nil, err
	}
	if s := root.Get("stream"); s.Exists() && s.Type() != protocol.TypeBool && s.Type() != protocol.TypeNull {
		return nil, invalid("stream", "stream: expected true or false.")
	}
	in.stream = root.Get("stream").Bool()
	in.usage = root.Get("stream_options").Get("include_usage").Bool()
	for _, name := range []string{"user", "safety_identifier", "prompt_cache_key"} {
		in.label(name, root.Get(name).Text())
	}
	if !responses {
		err := in.readMessages("messages", root.Get("messages"))
		return in, err
	}
	in.previous = root.Get("previous_response_id").Text()
	list := root.Get("input")
	if list.Type() != protocol.TypeString {
		err := in.readMessages("input", list)
		return in, err
	}
	in.text = list.Text()
	in.first, in.alone, in.same = in.text, true, string(list.Raw())
	if strings.TrimSpace(in.text) == "" {
		return nil, invalid("input", "input: expected a text or an array of messages.")
	}
	return in, nil
}

// label adds a text that tells conversations apart.
func (in *input) label(name, text string) {
	if text != "" && len(text) <= maxLabel {
		in.labels = append(in.labels, name, text)
	}
}

// parseModel reads the name of a model: SPACE or SPACE/PARTICIPANT.
func parseModel(model string) (space string, to protocol.ParticipantID, err error) {
	if model == "" {
		f := invalid("model", "model: expected the name of a space, or SPACE/PARTICIPANT. GET /v1/models lists them.")
		f.code = "missing_required_parameter"
		return "", "", f
	}
	space, participant, addressed := strings.Cut(model, "/")
	if !protocol.ValidSpaceName(space) || addressed && !protocol.ValidParticipantID(participant) {
		return "", "", unknownModel(model)
	}
	return space, protocol.ParticipantID(participant), nil
}

// refuse returns an error for parameters that ask for another answer than a space can
// give. Others, such as temperature, are ignored.
func refuse(root protocol.Value, responses bool) error {
	for _, name := range []string{"tools", "functions"} {
		if root.Get(name).Len() > 0 && !root.Get("tool_choice").EqualText("none") {
			return unsupported(name, name+": participants of a space call tools of the space, not functions of the client. Remove them, or set tool_choice to \"none\".")
		}
	}
	if n, ok := root.Get("n").Int(); ok && n != 1 {
		return unsupported("n", "n: a question has one turn; only 1 is possible.")
	}
	for _, name := range []string{"audio", "logprobs", "top_logprobs", "prompt", "conversation", "background"} {
		if v := root.Get(name); v.Exists() && v.Type() != protocol.TypeNull && (v.Type() != protocol.TypeBool || v.Bool()) {
			if n, ok := v.Int(); ok && n == 0 {
				continue
			}
			return unsupported(name, name+": not supported for a space.")
		}
	}
	for m := range root.Get("modalities").Elements {
		if !m.EqualText("text") {
			return unsupported("modalities", "modalities: only text is possible.")
		}
	}
	name, format := "response_format", root.Get("response_format")
	if responses {
		name, format = "text.format", root.Get("text").Get("format")
	}
	if kind := format.Get("type"); kind.Exists() && !kind.EqualText("text") {
		return unsupported(name, name+": participants of a space answer with text; only the type text is possible.")
	}
	return nil
}

// readMessages reads a conversation.
func (in *input) readMessages(param string, list protocol.Value) error {
	if list.Type() != protocol.TypeArray {
		return invalid(param, param+": expected an array of messages.")
	}
	if list.Len() > maxMessages {
		return invalid(param, fmt.Sprintf("%s: expected at most %d messages. Leave out the oldest ones; the space has its own memory.", param, maxMessages))
	}
	questions, end := 0, 0
	for m := range list.Elements {
		switch role := m.Get("role").Text(); {
		case role == "tool", role == "function", m.Get("type").EqualText("function_call_output"):
			return unsupported(param, param+": results of functions are not supported; participants of a space call tools of the space.")
		case role == "user":
			text, err := contentText(param, m.Get("content"))
			if err != nil {
				return err
			}
			questions++
			if questions == 1 {
				in.first = text
			} else {
				in.earlier = in.text
			}
			in.text, end = text, m.Offset()+len(m.Raw())
		}
	}
	in.alone = list.Len() == 1
	if end > 0 {
		in.same = string(list.Raw()[:end-list.Offset()])
	}
	if strings.TrimSpace(in.text) == "" {
		return invalid(param, param+": expected a message of the role user with a text.")
	}
	return nil
}

// contentText returns the text of a message: of its parts of text, and the names of
// its images and files, whose content a space does not take.
func contentText(param string, content protocol.Value) (string, error) {
	if content.Type() == protocol.TypeString {
		return content.Text(), nil
	}
	if content.Len() > maxParts {
		return "", invalid(param, fmt.Sprintf("%s: expected at most %d parts of a message.", param, maxParts))
	}
	var parts []string
	for p := range content.Elements {
		switch kind := p.Get("type").Text(); kind {
		case "text", "input_text", "output_text":
			parts = append(parts, p.Get("text").Text())
		case "image_url", "input_image":
			parts = append(parts, "[image without its content]")
		case "file", "input_file":
			name := p.Get("filename").Text() + p.Get("file").Get("filename").Text()
			parts = append(parts, strings.TrimSpace("[file without its content] "+name))
		default:
			return "", unsupported(param, param+": content of the type "+string(quote(kind))+" is not supported; expected text.")
		}
	}
	return strings.Join(parts, "\n"), nil
}

// task returns the answer to a request that Open WebUI makes on its own: for a title,
// tags, or suggestions. These are no questions to participants.
func (in *input) task() (answer string, ok bool) {
	const history, end, format = "<chat_history>", "</chat_history>", "JSON format:"
	_, output, found := strings.Cut(in.text, format)
	if !in.alone || !found || !strings.HasPrefix(in.text, "### Task:") || !strings.Contains(output, history) {
		return "", false
	}
	_, key, _ := strings.Cut(output, `"`)
	key, _, _ = strings.Cut(key, `"`)
	switch key {
	case "title": // the beginning of the first message of the chat
		_, chat, _ := strings.Cut(output, history)
		chat, _, _ = strings.Cut(chat, end)
		_, text, found := strings.Cut(chat, "USER: ")
		if !found {
			text = chat
		}
		line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		words := strings.Fields(line)
		title := strings.Join(words[:min(len(words), maxTitle)], " ")
		if len(words) > maxTitle {
			title += "…"
		}
		return string(quote(map[string]string{key: title})), true
	case "tags", "follow_ups", "queries":
		return string(quote(map[string]json.RawMessage{key: json.RawMessage("[]")})), true
	case "text":
		return `{"text":""}`, true
	}
	return "", false
}
