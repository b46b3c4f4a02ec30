/** Somebody that the service names: who made a pool, who permitted a pipeline, who asks. */
export interface FakeIdentity {
  readonly id: string;
  readonly displayName: string;
  readonly uniqueName: string;
  /** The subject's descriptor; the service puts it into the address of the picture, too. */
  readonly descriptor: string;
}

/** Whoever has an accepted token. */
export const admin: FakeIdentity = {
  id: '22222222-2222-6222-a222-222222222222',
  displayName: 'Lab Admin',
  uniqueName: 'admin@lab.example',
  descriptor: 'aad.TGFiQWRtaW4',
};
