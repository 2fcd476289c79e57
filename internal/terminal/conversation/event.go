package conversation

import (
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// Event is an input of the model; the model is a fold over events.
type Event any

type (
	// Typed is a message or a command that the person has entered.
	Typed struct{ Text string }
	// Received is an envelope that has arrived.
	Received struct{ Envelope protocol.Envelope }
	// Recalled reports that the envelopes from before the start have arrived.
	Recalled struct{}
	// Missed reports envelopes that are missing.
	Missed struct{ Err *client.GapError }
	// Linked is a new state of the connection.
	Linked struct{ State client.State }
	// Ended reports that no more envelopes will arrive.
	Ended struct{ Err error }
	// Ticked reports that time has passed while the model is busy.
	Ticked struct{}

	// Sent is the result of a send.
	Sent struct {
		ID  protocol.ID
		Err error
	}
	// TurnRead is the result of a ReadTurn.
	TurnRead struct {
		Request ReadTurn
		Turn    *api.TurnOf
		Err     error
	}
	// HistoryRead is the result of a ReadHistory.
	HistoryRead struct {
		Request ReadHistory
		Turns   []api.Turn
		More    bool // there are older turns, which were not read
		Err     error
	}
	// EnvelopeRead is the result of a ReadEnvelope.
	EnvelopeRead struct {
		Request ReadEnvelope
		Raw     []byte // JSON
		Err     error
	}
	// Searched is the result of a Search.
	Searched struct {
		Request Search
		Result  *api.SearchResult // nil with an error
		Err     error
	}
	// Exported is the result of an export.
	Exported struct {
		File string
		Size int
		Err  error
	}
	// ParticipantsRead is the result of a ReadParticipants.
	ParticipantsRead struct {
		Participants []protocol.Participant
		Err          error
	}
	// ProposalRead is the result of a ReadProposal.
	ProposalRead struct {
		Request  ReadProposal
		Proposal *api.Proposal // nil with an error
		Err      error
	}
	// ScopesRead is the result of a ReadScopes.
	ScopesRead struct {
		Request ReadScopes
		Scopes  []api.Scope
		Err     error
	}
	// GrantsRead is the result of a ReadGrants.
	GrantsRead struct {
		Request   ReadGrants
		Envelopes []protocol.Envelope
		Err       error
	}
)

// Effect is work to be done outside the model.
type Effect any

type (
	// Send publishes an envelope.
	Send struct{ Envelope protocol.Envelope }
	// ReadTurn reads the turn of an envelope. If show is set, its reasoning is
	// shown; otherwise only its number is used.
	ReadTurn struct {
		Envelope protocol.ID
		Agent    protocol.ParticipantID // the agent of the reasoning to show
		Show     bool
		Mine     bool // this participant takes part in the conversation
	}
	// ReadHistory reads turns of a thread.
	ReadHistory struct {
		Thread protocol.ID
		Which  Which
		Number int // of the turn, for one
	}
	// ReadEnvelope reads one envelope.
	ReadEnvelope struct{ ID protocol.ID }
	// Search searches the log.
	Search struct{ Text string }
	// Export writes a conversation into a file.
	Export struct {
		Thread protocol.ID
		File   string
	}
	// ReadGrants reads the grants in the log, to revoke those to who.
	ReadGrants struct{ Of protocol.ParticipantID }
	// ReadProposal reads whether this participant may decide on a proposal, by its id and
	// position.
	ReadProposal struct {
		ID protocol.ID
		At protocol.Seq
	}
	// ReadScopes reads what a grant with the approval of a proposal may allow, to approve
	// the call and calls like it for a time.
	ReadScopes struct {
		Proposal protocol.ID
		Approval protocol.Envelope
		Length   time.Duration
	}
	// ReadParticipants reads the connected participants and their capabilities.
	ReadParticipants struct{}
	// Leave ends the program.
	Leave struct{}
)

// Which selects turns.
type Which int

const (
	Latest Which = iota // the most recent completed turn
	One                 // the turn with a number
	All
)
