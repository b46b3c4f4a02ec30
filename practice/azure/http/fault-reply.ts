import type { Fault } from '../world/faults.ts';
import { refusal, signInPage, signInRedirect, type Reply } from './reply.ts';

/** What a fault is answered with; undefined: it lets the call be carried out. */
export function faultReply({ status, deactivated }: Fault): Reply | undefined {
  if (deactivated === true) return stopped;
  if (status === undefined) return undefined;
  if (status === 203) return signInPage;
  if (status === 302) return signInRedirect;
  if (status === 429) {
    return refusal(
      429,
      '',
      'TF400733: The request has been canceled: Request was blocked due to exceeding usage.',
    );
  }
  return { status, html: `<html><body>${status}</body></html>` };
}

const message =
  'TF24668: The following team project collection is stopped: lab. Start the collection and then try again. Administrator Reason: This Azure DevOps organization has been deactivated due to inactivity. For more information please visit aka.ms/adofootprintreduction';
const namespace = 'Microsoft.VisualStudio.Services.Common';

/** As recorded of an organisation that nobody had used: JSON behind a byte order mark, and the message once more in a header. */
const stopped: Reply = {
  status: 503,
  html: `\uFEFF${JSON.stringify(refusal(503, 'VssServiceException', message, namespace).json)}`,
  headers: { 'content-type': 'application/json', 'x-tfs-serviceerror': encodeURIComponent(message) },
};
