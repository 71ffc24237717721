package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// logged is the line of the access log that is written for a request.
type logged struct {
	Protocol      string  `json:"protocol"`
	Status        int     `json:"status"`
	BodyBytes     int64   `json:"body_bytes"`
	ContentLength string  `json:"content_length"`
	Connection    string  `json:"connection"`
	TLSVersion    string  `json:"tls_version"`
	Cipher        string  `json:"cipher"`
	Resumed       string  `json:"resumed"`
	EarlyData     *string `json:"early_data,omitempty"`
	Method        string  `json:"method"`
	Path          string  `json:"path"`
	Authority     string  `json:"authority"`
}

// server answers requests with the files of a folder, and stores uploads in another.
type server struct {
	common
	address, certificate, key string
	content, bodies, log      string
	files                     fs.FS
	uploads                   *os.Root // nil: none are stored
	connections               atomic.Int64
	lock                      sync.Mutex
	lines                     *json.Encoder
}

// accepted is what the context of each request says of its connection.
type accepted struct {
	number int64
	quic   *quic.Conn // nil over TCP
}

type acceptedKey struct{}

// serve answers over TCP and UDP until the context ends.
func serve(ctx context.Context, words []string) error {
	var s server
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	s.define(flags)
	flags.StringVar(&s.address, "address", ":443", "`address:port` to listen on, TCP and UDP")
	flags.StringVar(&s.certificate, "certificate", "", "`file` with the certificate")
	flags.StringVar(&s.key, "key", "", "`file` with the certificate's key")
	flags.StringVar(&s.content, "content", ".", "`folder` with the files")
	flags.StringVar(&s.bodies, "bodies", "", "`folder` for the bodies of PUT and POST")
	flags.StringVar(&s.log, "log", "", "`file` for the access log")
	_ = flags.Parse(words)
	config, err := s.prepare()
	if err != nil {
		return err
	}
	tcp, err := net.Listen("tcp", s.address)
	if err != nil {
		return err
	}
	udp, err := net.ListenPacket("udp", s.address)
	if err != nil {
		return err
	}
	overTCP := &http.Server{
		Handler: http.HandlerFunc(s.answer), TLSConfig: config.Clone(),
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context { return s.accept(ctx, nil) },
	}
	overQUIC := &http3.Server{
		Handler: http.HandlerFunc(s.answer), TLSConfig: http3.ConfigureTLSConfig(config),
		QUICConfig: s.quic(), IdleTimeout: neverIdle,
		ConnContext: s.accept,
	}
	ended := make(chan error, 2)
	go func() { ended <- overTCP.ServeTLS(tcp, "", "") }()
	go func() { ended <- overQUIC.Serve(udp) }()
	select {
	case err = <-ended:
		return err
	case <-ctx.Done():
		return errors.Join(overTCP.Close(), overQUIC.Close())
	}
}

// prepare opens the folder and the log, and reads the certificate.
func (s *server) prepare() (*tls.Config, error) {
	config, err := s.tls()
	if err != nil {
		return nil, err
	}
	certificate, err := tls.LoadX509KeyPair(s.certificate, s.key)
	if err != nil {
		return nil, err
	}
	config.Certificates = []tls.Certificate{certificate}
	root, err := os.OpenRoot(s.content)
	if err != nil {
		return nil, err
	}
	s.files = root.FS()
	if s.bodies != "" {
		if s.uploads, err = os.OpenRoot(s.bodies); err != nil {
			return nil, err
		}
	}
	log, err := os.OpenFile(s.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	s.lines = json.NewEncoder(log)
	return config, err
}

func (s *server) accept(ctx context.Context, connection *quic.Conn) context.Context {
	return context.WithValue(ctx, acceptedKey{}, accepted{s.connections.Add(1), connection})
}

// earlyData says whether a request was early data: "1", empty or, if the handshake of a connection
// with early data may have ended before the handler began, nothing.
func (a accepted) earlyData(handshakeComplete bool) *string {
	early, late := "1", ""
	switch {
	case !handshakeComplete:
		return &early
	case a.quic != nil && a.quic.ConnectionState().Used0RTT:
		return nil
	}
	return &late
}

// answer sends a file, and logs the request.
func (s *server) answer(writer http.ResponseWriter, request *http.Request) {
	from := request.Context().Value(acceptedKey{}).(accepted)
	early := from.earlyData(request.TLS.HandshakeComplete)
	counted := &countingWriter{ResponseWriter: writer}
	s.send(counted, request)
	line := logged{
		Protocol:      request.Proto,
		Status:        counted.status,
		BodyBytes:     counted.bodyBytes,
		ContentLength: writer.Header().Get("Content-Length"),
		Connection:    strconv.FormatInt(from.number, 10),
		TLSVersion:    strings.Replace(tls.VersionName(request.TLS.Version), "TLS ", "TLSv", 1),
		Cipher:        tls.CipherSuiteName(request.TLS.CipherSuite),
		Resumed:       map[bool]string{true: "r", false: "."}[request.TLS.DidResume],
		EarlyData:     early,
		Method:        request.Method,
		Path:          request.URL.RequestURI(),
		Authority:     request.Host,
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	_ = s.lines.Encode(line)
}

func (s *server) send(writer http.ResponseWriter, request *http.Request) {
	name := strings.TrimPrefix(path.Clean(request.URL.Path), "/")
	if s.uploads != nil && (request.Method == http.MethodPut || request.Method == http.MethodPost) {
		writer.WriteHeader(s.store(name, request.Body))
		return
	}
	file, err := s.files.Open(name)
	if err != nil {
		http.NotFound(writer, request)
		return
	}
	defer file.Close()
	about, err := file.Stat()
	if err != nil || !about.Mode().IsRegular() {
		http.NotFound(writer, request)
		return
	}
	http.ServeContent(writer, request, name, time.Time{}, file.(*os.File))
}

// store writes an upload to its file, and returns the status.
func (s *server) store(name string, body io.Reader) int {
	file, err := s.uploads.Create(name)
	if err != nil {
		return http.StatusNotFound
	}
	_, err = io.Copy(file, body)
	if errors.Join(err, file.Close()) != nil {
		return http.StatusInternalServerError
	}
	return http.StatusCreated
}

// countingWriter counts the bytes of a body.
type countingWriter struct {
	http.ResponseWriter
	status    int
	bodyBytes int64
}

func (w *countingWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *countingWriter) Write(body []byte) (int, error) {
	count, err := w.ResponseWriter.Write(body)
	w.bodyBytes += int64(count)
	return count, err
}
