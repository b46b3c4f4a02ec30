/** The processes that work items of projects can follow, by the service's Guids (Basic's is recorded). The first is the default. */
export const processes = [
  { id: 'b8a3a935-7e91-48b8-a94c-606d37c3e9f2', name: 'Basic' },
  { id: 'adcc42ab-9882-485e-a3ed-7678f01f66bc', name: 'Agile' },
  { id: '6b724908-ef14-45cf-84f8-768b5384da45', name: 'Scrum' },
  { id: '27450541-8e31-4150-9947-dc59f998fc01', name: 'CMMI' },
] as const;
