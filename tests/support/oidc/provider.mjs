// An OpenID Connect provider on loopback. Arguments: the folder of the installed packages, its own
// address, and the file of the people, which is read anew whenever it says something about one.
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [packages, issuer, people] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${packages}/package.json`));
const { Provider } = await import(pathToFileURL(require.resolve('oidc-provider')));

const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const jwk = { ...key.export({ format: 'jwk' }), kid: 'first', use: 'sig', alg: 'RS256' };
const back = (alias) => `http://testserver/login/with/${alias}/back`;

const provider = new Provider(issuer, {
  jwks: { keys: [jwk] },
  clients: [
    { client_id: 'gangline', client_secret: 'tests-client-secret', redirect_uris: [back('company')] },
    { client_id: 'public', token_endpoint_auth_method: 'none', redirect_uris: [back('public')] },
  ],
  claims: {
    openid: ['sub'],
    profile: ['preferred_username', 'name'],
    email: ['email', 'email_verified'],
    groups: ['groups'],
  },
  scopes: ['openid', 'profile', 'email', 'groups'],
  cookies: { keys: ['tests'] },
  pkce: { required: () => true },
  findAccount: (_, sub) => ({
    accountId: sub,
    claims: () => ({ sub, ...JSON.parse(readFileSync(people, 'utf8'))[sub] }),
  }),
});
const { hostname, port } = new URL(issuer);
provider.listen(Number(port), hostname);
