package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

var start = time.Now()

func sinceStart() float64 { return time.Since(start).Seconds() }

// transfer is the line that is printed for a file; times are in seconds since the start.
type transfer struct {
	HTTPVersion string  `json:"http_version"`
	Path        string  `json:"path"`
	Status      int     `json:"status"`
	BodyBytes   int64   `json:"body_bytes"`
	Connection  string  `json:"connection"`
	TLSVersion  string  `json:"tls_version"`
	Cipher      string  `json:"cipher"`
	Resumed     bool    `json:"resumed"`
	EarlyData   bool    `json:"early_data"`
	Began       float64 `json:"began_s"`
	Handshake   float64 `json:"handshake_s"`
	FirstByte   float64 `json:"first_byte_s,omitempty"`
	Ended       float64 `json:"ended_s"`
}

// client fetches files from one server, or uploads them.
type client struct {
	common
	version, server, name, ca string
	method                    string
	rounds, connections, wave int
	interval                  time.Duration
	resumption, visit         string
	session                   string
	transport                 http.RoundTripper
	quicConnection            atomic.Pointer[quic.Conn]
	handshake                 atomic.Value // seconds of the first handshake's end
	output                    sync.Mutex
}

// get fetches every /PATH=FILE of the words, in parallel, in as many rounds as requested.
func get(words []string) error {
	var c client
	flags := flag.NewFlagSet("get", flag.ExitOnError)
	c.define(flags)
	flags.StringVar(&c.version, "http", "3", "HTTP `version`: 1.1, 2 or 3")
	flags.StringVar(&c.server, "server", "", "`address:port` to connect to")
	flags.StringVar(&c.name, "server-name", "", "`name` in the certificate")
	flags.StringVar(&c.ca, "ca", "", "`file` with the authority's certificate")
	flags.StringVar(&c.method, "method", http.MethodGet, "GET fetches the files; PUT or POST uploads them")
	flags.IntVar(&c.rounds, "rounds", 1, "how often all files are fetched")
	flags.DurationVar(&c.interval, "interval", 0, "`time` between waves of requests; 0: all at once")
	flags.IntVar(&c.wave, "wave", 1, "requests in each interval")
	flags.IntVar(&c.connections, "connections", 1, "connections over HTTP/1.1 at the most")
	flags.StringVar(&c.resumption, "resumption", "none", "none, resumed or early-data")
	flags.StringVar(&c.visit, "visit", "measured", "prior: leave a ticket in the session's file")
	flags.StringVar(&c.session, "session", "", "`file` for the TLS session")
	_ = flags.Parse(words)
	err := c.run(flags.Args())
	if err != nil {
		_ = json.NewEncoder(os.Stdout).Encode(map[string]string{"error": err.Error()})
	}
	return err
}

func (c *client) run(requests []string) error {
	config, err := c.tlsConfig()
	if err != nil {
		return err
	}
	close, err := c.open(config)
	if err != nil {
		return err
	}
	defer close()
	for range c.rounds {
		if c.interval > 0 {
			err = c.waves(requests)
		} else {
			err = c.round(requests)
		}
		if err != nil {
			return err
		}
	}
	if c.visit == "prior" {
		return config.ClientSessionCache.(*session).wait()
	}
	return nil
}

// round fetches every file once. The requests begin in the order of the words: a request waits
// until the one before it was sent or, over HTTP/1.1, has asked for a connection.
func (c *client) round(requests []string) (err error) {
	results := make(chan error, len(requests))
	for _, request := range requests {
		path, file, _ := strings.Cut(request, "=")
		begun, begin := context.WithCancel(context.Background())
		go func() {
			defer begin()
			results <- c.fetch(path, file, sinceStart(), begin)
		}()
		<-begun.Done()
	}
	for range requests {
		err = errors.Join(err, <-results)
	}
	return err
}

// waves fetches every file once: a wave of requests in each interval, whether or not earlier ones
// have ended. A transfer begins when its request is due, so one that the client sends late counts
// as late (coordinated omission).
func (c *client) waves(requests []string) (err error) {
	results := make(chan error, len(requests))
	first := time.Now()
	for number, request := range requests {
		due := first.Add(time.Duration(number/c.wave) * c.interval)
		time.Sleep(time.Until(due))
		path, file, _ := strings.Cut(request, "=")
		go func() { results <- c.fetch(path, file, due.Sub(start).Seconds(), func() {}) }()
	}
	for range requests {
		err = errors.Join(err, <-results)
	}
	return err
}

func (c *client) tlsConfig() (*tls.Config, error) {
	config, err := c.tls()
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(c.ca)
	if err != nil {
		return nil, err
	}
	config.RootCAs = x509.NewCertPool()
	config.RootCAs.AppendCertsFromPEM(authority)
	config.ServerName = c.name
	if c.resumption != "none" {
		config.ClientSessionCache = &session{file: c.session, prior: c.visit == "prior"}
	}
	return config, nil
}

// open prepares the transport of the HTTP version; it dials when the first request is sent.
func (c *client) open(config *tls.Config) (close func(), err error) {
	if c.version == "3" {
		transport := &http3.Transport{
			TLSClientConfig: config, QUICConfig: c.quic(), DisableCompression: true, Dial: c.dialQUIC,
		}
		c.transport = transport
		return func() { _ = transport.Close() }, nil
	}
	var protocols http.Protocols
	protocols.SetHTTP1(c.version == "1.1")
	protocols.SetHTTP2(c.version == "2")
	connections := c.connections
	if c.version == "2" {
		connections = 1 // otherwise requests that begin together open one each
	}
	transport := &http.Transport{
		TLSClientConfig: config, Protocols: &protocols, DisableCompression: true,
		MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", c.server)
		},
	}
	c.transport = transport
	return transport.CloseIdleConnections, nil
}

func (c *client) dialQUIC(
	ctx context.Context, _ string, config *tls.Config, settings *quic.Config,
) (*quic.Conn, error) {
	dial := quic.DialAddr
	if c.sendsEarly() {
		dial = quic.DialAddrEarly // offers early data
	}
	connection, err := dial(ctx, c.server, config, settings)
	if err != nil {
		return nil, err
	}
	c.quicConnection.Store(connection)
	go func() {
		<-connection.HandshakeComplete()
		c.handshake.CompareAndSwap(nil, sinceStart())
	}()
	return connection, nil
}

// sendsEarly says whether the first requests are early data.
func (c *client) sendsEarly() bool {
	return c.version == "3" && c.resumption == "early-data" && c.visit == "measured"
}

// bodies opens the file that the response is stored in, and the one that the request sends, if any.
func (c *client) bodies(file string) (stored io.WriteCloser, sent io.ReadCloser, size int64, err error) {
	if c.method == http.MethodGet {
		stored, err = os.Create(file)
		return stored, nil, 0, err
	}
	upload, err := os.Open(file)
	if err != nil {
		return nil, nil, 0, err
	}
	about, err := upload.Stat()
	if err != nil {
		return nil, nil, 0, err
	}
	stored, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	return stored, upload, about.Size(), err
}

// fetch transfers one file, and prints its line, with the time since the start at which it began; it
// calls begun when the next request may begin.
func (c *client) fetch(path, file string, began float64, begun func()) error {
	stored, sent, size, err := c.bodies(file)
	if err != nil {
		return err
	}
	defer stored.Close()
	if sent != nil {
		defer sent.Close()
	}
	got := transfer{Path: path, Began: began}
	trace := &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { begun() }}
	method := c.method
	switch {
	case c.version != "3":
		trace.GotConn = func(info httptrace.GotConnInfo) {
			got.Connection = info.Conn.LocalAddr().String()
		}
		trace.TLSHandshakeDone = func(tls.ConnectionState, error) {
			c.handshake.CompareAndSwap(nil, sinceStart())
		}
	case c.sendsEarly():
		method = http3.MethodGet0RTT
	}
	if c.version == "1.1" {
		trace.GetConn = func(string) { begun() }
	}
	request, err := http.NewRequestWithContext(
		httptrace.WithClientTrace(context.Background(), trace), method, "https://"+c.name+path, sent,
	)
	if err != nil {
		return err
	}
	request.ContentLength = size
	request.Header.Set("User-Agent", "httpbed-go")
	early := c.handshake.Load() == nil
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer response.Body.Close()
	got.Status = response.StatusCode
	got.HTTPVersion = versionOf(response.ProtoMajor, response.ProtoMinor)
	got.BodyBytes, err = io.Copy(stored, &firstRead{Reader: response.Body, at: &got.FirstByte})
	got.Ended = sinceStart()
	if err != nil {
		return fmt.Errorf("%s: after %d bytes: %w", path, got.BodyBytes, err)
	}
	secured := *response.TLS
	if connection := c.quicConnection.Load(); connection != nil {
		state := connection.ConnectionState()
		secured, got.Connection = state.TLS, connection.LocalAddr().String()
		got.EarlyData = early && state.Used0RTT && method == http3.MethodGet0RTT
	}
	got.Resumed, got.Cipher = secured.DidResume, tls.CipherSuiteName(secured.CipherSuite)
	got.TLSVersion = strings.Replace(tls.VersionName(secured.Version), "TLS ", "TLSv", 1)
	got.Handshake, _ = c.handshake.Load().(float64)
	c.output.Lock()
	defer c.output.Unlock()
	return json.NewEncoder(os.Stdout).Encode(got)
}

// firstRead notes when the first byte of a body arrived.
type firstRead struct {
	io.Reader
	at *float64
}

func (r *firstRead) Read(buffer []byte) (int, error) {
	count, err := r.Reader.Read(buffer)
	if count > 0 && *r.at == 0 {
		*r.at = sinceStart()
	}
	return count, err
}
