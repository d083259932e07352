package transport

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
)

// TLSConfig returns a configuration for Config.TLS. caFile names a file of PEM
// certificates; a server must then be vouched for by one of them: like curl's
// --cacert it replaces the system's roots, so that what passes is what the file
// says. Empty leaves the system's roots. insecure verifies nothing, neither who
// vouches for the server nor its name, and rules out caFile.
func TLSConfig(caFile string, insecure bool) (*tls.Config, error) {
	if insecure {
		if caFile != "" {
			return nil, fmt.Errorf("the CA file %s would verify nothing beside insecure; want one of them", caFile)
		}
		return &tls.Config{InsecureSkipVerify: true}, nil
	}
	if caFile == "" {
		return &tls.Config{}, nil
	}
	text, err := os.ReadFile(caFile)
	if err != nil {
		return nil, fmt.Errorf("read the CA file: %w", err)
	}
	roots, err := parseRoots(text)
	if err != nil {
		return nil, fmt.Errorf("CA file %s: %w", caFile, err)
	}
	return &tls.Config{RootCAs: roots}, nil
}

// parseRoots reads the certificates among PEM blocks.
func parseRoots(text []byte) (*x509.CertPool, error) {
	const form = "want PEM blocks that begin with -----BEGIN CERTIFICATE-----"
	roots, other := x509.NewCertPool(), ""
	certificates := 0
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			other = block.Type
			continue
		}
		certificates++
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d in it: %w", certificates, err)
		}
		roots.AddCert(certificate)
	}
	switch {
	case certificates > 0:
		return roots, nil
	case other != "":
		return nil, fmt.Errorf("there is a %s in it but no certificate; %s", other, form)
	}
	return nil, errors.New("there is no certificate in it; " + form)
}

// clientTLS returns base, or the default for nil, made ready for HTTP/1.1 with a
// server. base's own server name goes first.
func clientTLS(base *tls.Config, serverName string) *tls.Config {
	if base == nil {
		base = &tls.Config{}
	}
	c := base.Clone()
	c.NextProtos = []string{"http/1.1"}
	if c.ServerName == "" {
		c.ServerName = serverName
	}
	return c
}
