package main

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"
)

// ticketPatience is how long a visit waits for a ticket, which a server may send at any time.
const ticketPatience = 5 * time.Second

// session is a cache of one TLS session that outlives the program: a prior visit writes the file,
// later ones read it.
type session struct {
	file   string
	prior  bool
	lock   sync.Mutex
	stored bool
}

// saved is the content of the file.
type saved struct{ Ticket, State []byte }

// Get returns the session of the prior visit.
func (s *session) Get(string) (*tls.ClientSessionState, bool) {
	if s.prior {
		return nil, false
	}
	var from saved
	content, err := os.ReadFile(s.file)
	if err != nil || json.Unmarshal(content, &from) != nil {
		return nil, false
	}
	state, err := tls.ParseSessionState(from.State)
	if err != nil {
		return nil, false
	}
	client, err := tls.NewResumptionState(from.Ticket, state)
	return client, err == nil
}

// Put stores a session of the prior visit.
func (s *session) Put(_ string, client *tls.ClientSessionState) {
	if !s.prior || client == nil {
		return
	}
	ticket, state, err := client.ResumptionState()
	if err != nil {
		return
	}
	content, err := state.Bytes()
	if err != nil {
		return
	}
	encoded, _ := json.Marshal(saved{ticket, content})
	s.lock.Lock()
	defer s.lock.Unlock()
	s.stored = os.WriteFile(s.file, encoded, 0o600) == nil
}

// wait returns when a session is stored, or an error if none has come.
func (s *session) wait() error {
	for over := time.Now().Add(ticketPatience); time.Now().Before(over); time.Sleep(time.Millisecond) {
		s.lock.Lock()
		stored := s.stored
		s.lock.Unlock()
		if stored {
			return nil
		}
	}
	return errors.New("the server sent no session ticket")
}
