package recording

import (
	"slices"
	"strings"
	"unicode"
)

// What the words of a name say that hides something: of a header any of them, of a
// field or a query parameter any of secretWords, or one of keyWords behind one of
// keyKinds ("key" alone is often an ordinary field, and "max_tokens" counts some).
var (
	headerWords = []string{
		"auth", "key", "token", "cookie", "cookie2", "session", "signature", "jwt", "userinfo", "identity", "assertion",
	}
	identityWords = []string{"organization", "organisation", "org", "project", "account"} // of a header, too
	secretWords   = []string{
		"authorization", "apikey", "apikeys", "secret", "secrets", "password", "passwd", "passphrase", "credential", "credentials", "bearer",
	}
	keyWords = []string{"key", "keys", "token"}
	keyKinds = []string{
		"api", "access", "auth", "bearer", "client", "hf", "id", "master", "private", "refresh", "secret", "security",
		"service", "session", "sign", "signing", "sub", "subscription",
	}
)

// sensitiveHeader says whether a header's values must not be in a file.
func sensitiveHeader(name string) bool {
	return identityHeader(name) || slices.ContainsFunc(wordsOf(name), func(w string) bool {
		return slices.Contains(headerWords, w) || slices.Contains(secretWords, w)
	})
}

// identityHeader says whether they say who the client is, which may be an ordinary
// word.
func identityHeader(name string) bool {
	return slices.ContainsFunc(wordsOf(name), func(w string) bool { return slices.Contains(identityWords, w) })
}

// sensitiveField says the same of what stands under a name in a JSON body.
func sensitiveField(name string) bool {
	words := wordsOf(name)
	for i, w := range words {
		if slices.Contains(secretWords, w) || i > 0 && slices.Contains(keyWords, w) && slices.Contains(keyKinds, words[i-1]) {
			return true
		}
	}
	return false
}

// sensitiveParameter says the same of a query parameter. There "key" and "token"
// alone are credentials.
func sensitiveParameter(name string) bool {
	words := wordsOf(name)
	return sensitiveField(name) || sensitiveHeader(name) || len(words) == 1 && words[0] == "sig"
}

// wordsOf takes a name apart at what is no letter or digit and at camelCase's
// humps, in lower case.
func wordsOf(name string) []string {
	var spaced strings.Builder
	before := ' '
	for _, r := range name {
		if unicode.IsUpper(r) && (unicode.IsLower(before) || unicode.IsDigit(before)) {
			spaced.WriteByte(' ')
		}
		spaced.WriteRune(r)
		before = r
	}
	return strings.FieldsFunc(strings.ToLower(spaced.String()), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
