/** The certificate of the server, in PEM. */
export interface TlsFiles {
  /** The certificate, followed by the intermediate ones up to the CA. */
  readonly cert: string | Buffer;
  /** Its private key, without a passphrase. */
  readonly key: string | Buffer;
  /** The CA that client certificates are checked against. Required unless `clients` is `no`. */
  readonly ca?: string | Buffer | undefined;
}

export interface TlsOptions extends TlsFiles {
  /** TCP port for TLS; 0 takes a free one. */
  readonly port: number;
  /** Whether clients must send a certificate of `ca`: `yes`, only if they have one, or never. Default: yes. */
  readonly clients?: 'yes' | 'optional' | 'no';
  /** `CN` signs a client in as the user that its certificate names. Default: off. */
  readonly user?: 'CN' | 'off';
}
