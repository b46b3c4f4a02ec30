/** A user that the service names: of a pool, of a permission, of a call. */
export interface FakeIdentity {
  readonly id: string;
  readonly displayName: string;
  readonly uniqueName: string;
  /** The subject's descriptor; the service also uses it in the picture's address. */
  readonly descriptor: string;
}

/** The user of every accepted token. */
export const admin: FakeIdentity = {
  id: '22222222-2222-6222-a222-222222222222',
  displayName: 'Lab Admin',
  uniqueName: 'admin@lab.example',
  descriptor: 'aad.TGFiQWRtaW4',
};

/** The service itself, which created the initial pools; its id is the same everywhere. */
export const service: FakeIdentity = {
  id: '00000002-0000-8888-8000-000000000000',
  displayName: 'Microsoft.VisualStudio.Services.TFS',
  uniqueName: '00000002-0000-8888-8000-000000000000@2c895908-04e0-4952-89fd-54b0046d6288',
  descriptor:
    's2s.MDAwMDAwMDItMDAwMC04ODg4LTgwMDAtMDAwMDAwMDAwMDAwQDJjODk1OTA4LTA0ZTAtNDk1Mi04OWZkLTU0YjAwNDZkNjI4OA',
};
